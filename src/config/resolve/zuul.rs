//! `zuul.*` but the routes, and what else reads lists of header fields and paths.
//!
//! Names of fields become lower case here, so that nobody compares them in any other way.

use crate::config::fault::Fault;
use crate::config::model::ZuulConfig;
use crate::config::settings::{Read, Setting};
use crate::router::check_pattern;
use std::collections::BTreeSet;

pub(super) fn zuul(read: Read<'_>, faults: &mut Vec<Fault>) -> ZuulConfig {
    let default = ZuulConfig::default();
    let flag = |name, default| read.flag(name).unwrap_or(default);
    ZuulConfig {
        prefix: as_prefix(&read.text("zuul.prefix").unwrap_or_default()),
        strip_prefix: flag("zuul.strip-prefix", default.strip_prefix),
        add_proxy_headers: flag("zuul.add-proxy-headers", default.add_proxy_headers),
        add_host_header: flag("zuul.add-host-header", default.add_host_header),
        ignored_patterns: ignored_patterns(read, faults),
        ignored_headers: read.setting("zuul.ignored-headers").map(|s| headers(s, faults)).unwrap_or_default(),
        sensitive_headers: read
            .setting("zuul.sensitive-headers")
            .map_or(default.sensitive_headers, |setting| headers(setting, faults)),
        decode_url: flag("zuul.decode-url", default.decode_url),
        remove_semicolon_content: flag("zuul.remove-semicolon-content", default.remove_semicolon_content),
        servlet_path: read.text("zuul.servlet-path").map_or(default.servlet_path, |path| as_prefix(&path)),
        include_debug_header: flag("zuul.include-debug-header", default.include_debug_header),
        debug_request: flag("zuul.debug.request", default.debug_request),
        debug_parameter: read.words("zuul.debug.parameter").unwrap_or(default.debug_parameter),
        ssl_hostname_validation_enabled: flag(
            "zuul.ssl-hostname-validation-enabled",
            default.ssl_hostname_validation_enabled,
        ),
        host_max_total_connections: read
            .amount("zuul.host.max-total-connections")
            .unwrap_or(default.host_max_total_connections),
    }
}

fn ignored_patterns(read: Read<'_>, faults: &mut Vec<Fault>) -> Vec<String> {
    let name = "zuul.ignored-patterns";
    let (Some(patterns), Some(setting)) = (read.items(name), read.setting(name)) else { return Vec::new() };
    let wrong = patterns.iter().filter_map(|pattern| check_pattern(pattern).err());
    faults.extend(wrong.map(|message| Fault::error(&setting.place, setting.name.clone(), message)));
    patterns
}

/// With a leading and without a trailing slash, or empty.
pub(super) fn as_prefix(path: &str) -> String {
    match path.trim_matches('/') {
        "" => String::new(),
        inner => format!("/{inner}"),
    }
}

/// Names of fields in lower case. What can't be a field's name is a fault.
pub(super) fn headers(setting: &Setting, faults: &mut Vec<Fault>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in setting.value.items() {
        match http::HeaderName::from_bytes(item.as_bytes()) {
            Ok(name) => drop(names.insert(name.as_str().to_string())),
            Err(_) => {
                let message = format!("{item:?} can't be the name of a header field");
                faults.push(Fault::error(&setting.place, setting.name.clone(), message));
            }
        }
    }
    names
}
