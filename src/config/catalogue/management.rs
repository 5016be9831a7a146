//! `management.*` (Spring Boot 2.3's actuator), `info.*` and `logging.*`.
//!
//! Boot 1's names for the same things are known too, so that an old file says what to write instead. What a key comes to is decided in
//! `resolve::management`.

use super::{Key, Kind, acts, inert};

const BOOT_1: &str = "it is Boot 1's name; write management.server.port, management.endpoints.web.base-path and \
                      management.endpoints.web.exposure.include";
const NO_SUCH: &str = "that endpoint is not here";
const METRICS: &str = "metrics are served, as JSON and to Prometheus, but never pushed or filtered";
const LOG: &str = "log lines go to standard error; only logging.level.* is read";

pub(super) const KEYS: &[Key] = &[
    acts(
        "management.server.port",
        Kind::Count { min: -1, max: 65535 },
        "",
        "A listener of the actuator's own, never starved by traffic; unset: on the main port, below the routes; -1: none at all.",
    ),
    acts("management.server.address", Kind::Text, "", "Address of that listener; default: server.address."),
    acts("management.endpoints.web.base-path", Kind::Text, "/actuator", "Path of the actuator."),
    acts(
        "management.endpoints.web.exposure.include",
        Kind::List,
        "health,info",
        "Endpoints that can be asked; * for all.",
    ),
    acts("management.endpoints.web.exposure.exclude", Kind::List, "", "Endpoints that can't be asked all the same."),
    acts("management.endpoint.<id>.enabled", Kind::Flag, "true", "False: the endpoint of this id can't be asked."),
    acts(
        "management.endpoint.health.show-details",
        Kind::Choice(&["never", "always", "when-authorized"]),
        "never",
        "Whether health tells its components; when-authorized counts as never, since nobody can be authorised here.",
    ),
    acts("info.<key...>", Kind::Any, "", "What /actuator/info tells."),
    acts(
        "logging.level.<logger...>",
        Kind::Choice(&["trace", "debug", "info", "warn", "error", "fatal", "off", "false"]),
        "",
        "Level of a logger; `root` for all.",
    ),
    inert("management.endpoint.**", NO_SUCH),
    inert("management.endpoints.enabled-by-default", "write management.endpoints.web.exposure.include"),
    inert("management.endpoints.web.path-mapping.**", "endpoints are served under their ids"),
    inert("management.endpoints.web.cors.**", "the actuator answers no cross-origin requests"),
    inert("management.endpoints.web.discovery.**", "the actuator's own page is always there"),
    inert("management.endpoints.jmx.**", "there is no JMX here"),
    inert("management.endpoints.migrate-legacy-ids", NO_SUCH),
    inert("management.server.base-path", "write management.endpoints.web.base-path"),
    inert("management.server.servlet.**", "write management.endpoints.web.base-path"),
    inert("management.server.accesslog.**", "requests to the actuator are not logged apart"),
    inert("management.server.ssl.**", "the listener speaks plain HTTP"),
    inert("management.server.add-application-context-header", "X-Application-Context is not sent"),
    inert("management.health.**", "health tells what the gateway itself knows"),
    inert("management.info.**", "/actuator/info tells info.*"),
    inert("management.metrics.**", METRICS),
    inert("management.trace.**", NO_SUCH),
    inert("management.auditevents.**", NO_SUCH),
    inert("management.cloudfoundry.**", NO_SUCH),
    inert("management.port", BOOT_1),
    inert("management.address", BOOT_1),
    inert("management.context-path", BOOT_1),
    inert("management.security.**", BOOT_1),
    inert("management.ssl.**", BOOT_1),
    inert("management.add-application-context-header", BOOT_1),
    inert("logging.file.**", LOG),
    inert("logging.path", LOG),
    inert("logging.pattern.**", LOG),
    inert("logging.config", LOG),
    inert("logging.group.**", LOG),
    inert("logging.exception-conversion-word", LOG),
    inert("logging.logback.**", LOG),
    inert("logging.register-shutdown-hook", LOG),
];
