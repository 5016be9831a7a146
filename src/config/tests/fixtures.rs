//! Files under `tests/configs`, and the one that ships.
//!
//! Snippets that users posted, valid files with the warnings that they get, invalid ones with their errors: what a file expects stands at
//! its head, `# error: ...` or `# warning: ...`, in order.

use super::super::{Fault, Loaded, Severity, Sources, load};
use super::lines;
use crate::config::model::{IsolationConfig, RouteTarget, ShowDetails};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = root().join("tests/configs").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files
}

fn load_file(path: &Path) -> Result<Loaded, Vec<Fault>> {
    load(&Sources { files: vec![path.into()], ..Sources::default() })
}

#[track_caller]
fn seed(name: &str) -> (Loaded, Vec<String>) {
    let path = root().join("tests/configs/seeds").join(name);
    let loaded = load_file(&path).unwrap_or_else(|faults| panic!("{}", lines(&faults)));
    let keys = loaded.warnings.iter().map(|fault| fault.key.clone()).collect();
    (loaded, keys)
}

/// What the comments at the head of a file expect: `# error: ...` or `# warning: ...`.
fn expected(path: &Path, word: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let comments = text.lines().take_while(|line| line.starts_with('#'));
    comments.filter_map(|line| line.strip_prefix(&format!("# {word}: "))).map(str::to_string).collect()
}

/// Each expected text is part of one fault, and there are no others.
#[track_caller]
fn agree(path: &Path, faults: &[Fault], severity: Severity, expected: &[String]) {
    let found: Vec<_> = faults.iter().filter(|fault| fault.severity == severity).map(Fault::to_string).collect();
    let agree =
        found.len() == expected.len() && expected.iter().zip(&found).all(|(text, line)| line.contains(text.as_str()));
    assert!(agree, "{}: expected {expected:#?}, found {found:#?}", path.display());
}

#[test]
fn invalid_files_get_their_error() {
    for path in files("invalid") {
        let wanted = expected(&path, "error");
        assert!(!wanted.is_empty(), "{} expects nothing", path.display());
        match load_file(&path) {
            Ok(_) => panic!("{} was taken", path.display()),
            Err(faults) => agree(&path, &faults, Severity::Error, &wanted),
        }
    }
}

#[test]
fn valid_files_get_their_warnings_and_nothing_else() {
    for path in files("valid") {
        match load_file(&path) {
            Ok(loaded) => agree(&path, &loaded.warnings, Severity::Warning, &expected(&path, "warning")),
            Err(faults) => panic!("{}:\n{}", path.display(), lines(&faults)),
        }
    }
}

#[test]
fn the_file_that_ships_has_nothing_to_remark() {
    let loaded = load_file(&root().join("gateway.yaml")).unwrap_or_else(|faults| panic!("{}", lines(&faults)));
    assert!(loaded.warnings.is_empty(), "{}", lines(&loaded.warnings));
    assert_eq!(super::super::advice(&loaded.config), []);
    assert_eq!(loaded.config.gateway.example.map(|example| example.port), Some(9000));
    assert!(loaded.config.management.exposure.exposes("prometheus"));
}

#[test]
fn the_example_service_of_the_benchmark_loads() {
    let (loaded, warned) = seed("example-product.properties");
    let server = loaded.config.server;
    assert_eq!((server.port, server.accept_count, server.max_connections), (9000, 10000, 10000));
    assert_eq!((server.max_threads, server.min_spare_threads, server.uri_is_utf8), (200, 200, true));
    assert_eq!(loaded.config.application_name, "spring-cloud-gateway-product");
    assert_eq!(loaded.config.logging, [("root".to_string(), log::LevelFilter::Info)]);
    assert_eq!(warned, [""; 0]);
}

#[test]
fn the_gateway_of_the_benchmark_loads_and_tells_what_is_javas() {
    let (loaded, warned) = seed("gateway.properties");
    assert_eq!(loaded.config.server.port, 8080);
    assert_eq!(loaded.config.management.exposure.include, ["*"]);
    assert_eq!(loaded.config.management.show_details, ShowDetails::Always);
    let expected =
        ["spring.cloud.gateway.httpclient.connectTimeout", "ribbon.eureka.enabled", "ribbon.ServerListRefreshInterval"];
    assert_eq!(warned, expected);
}

#[test]
fn the_tuning_of_the_posts_takes_effect() {
    let route = [("zuul.routes.users".to_string(), "/users/**".to_string())];
    let with_route = |name: &str| {
        let files = vec![root().join("tests/configs/seeds").join(name)];
        load(&Sources { files, arguments: route.to_vec(), ..Sources::default() })
            .unwrap_or_else(|f| panic!("{}", lines(&f)))
    };
    let semaphore = with_route("semaphore.yml");
    assert_eq!(
        semaphore.config.backends["users"].isolation,
        IsolationConfig::Semaphore { max_concurrent_requests: 5000 }
    );
    assert!(semaphore.warnings.is_empty());
    let threads = with_route("threads.yml");
    assert_eq!(
        threads.config.backends["users"].isolation,
        IsolationConfig::Thread { pool_key: "RibbonCommand".into() }
    );
    let pool = threads.config.thread_pools["RibbonCommand"];
    assert_eq!((pool.core_size, pool.maximum_size, pool.max_queue_size), (100, 5000, None));
    assert!(threads.warnings.is_empty());
}

#[test]
fn the_json_route_file_gives_routes() {
    let file = root().join("tests/configs/seeds/routes.json").display().to_string();
    let sources = Sources { arguments: vec![("gateway.routes-file".into(), file)], ..Sources::default() };
    let loaded = load(&sources).unwrap_or_else(|faults| panic!("{}", lines(&faults)));
    let route = &loaded.config.routes[0];
    assert_eq!((route.id.as_str(), route.path.as_str(), route.strip_prefix), ("product", "/product/*", false));
    assert_eq!(route.target, RouteTarget::Service("productRibbon".into()));
    let server = &loaded.config.backends["productRibbon"].servers[0];
    assert_eq!((server.host.as_str(), server.port), ("localhost", 9000));
    assert!(loaded.warnings.is_empty());
}

/// A small generator with a seed, so that a failure can be seen again.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

#[test]
fn damaged_files_are_taken_or_refused_but_never_panic() {
    let mut random = Seeded(0x9e37_79b9_7f4a_7c15);
    let whole = std::fs::read_to_string(root().join("gateway.yaml")).expect("the file that ships");
    for _ in 0..300 {
        let mut octets = whole.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(octets.len());
            match random.below(3) {
                0 => octets[at] = b" \n:-#{}[]\"'&*!|>%@`$,\t0a"[random.below(24)],
                1 => drop(octets.remove(at)),
                _ => octets.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&octets);
        for fault in super::load_str(&text).err().unwrap_or_default() {
            assert!(!fault.to_string().contains('\n'), "{fault}");
        }
    }
}
