//! From settings to the [`Config`]: defaults filled in, limits of each backend looked up by Zuul's, Ribbon's and Hystrix's own precedence.
//!
//! Faults of single values were told before; what is told here concerns several keys at once.

mod address;
mod backends;
mod balance;
mod command;
mod fallback;
mod front;
mod isolation;
mod limit;
mod management;
mod rate_limit;
mod retry;
mod routes;
mod zuul;

pub(crate) use routes::{Route, Target, target};

use super::fault::{Fault, Severity};
use super::model::Config;
use super::routes_file;
use super::settings::Settings;

/// The configuration that the settings make. With faults of [`super::fault::Severity::Error`] it is of no use.
pub(crate) fn config(settings: &Settings, faults: &mut Vec<Fault>) -> Config {
    let server = front::server(settings.all(), faults);
    let mut gateway = front::gateway(settings.all(), &server, faults);
    let zuul = zuul::zuul(settings.all(), faults);
    let mut list = routes::routes(settings, faults);
    let file = settings.all().setting("gateway.routes-file").and_then(|file| routes_file::read(file, faults));
    let (more, services) = file.unwrap_or_default();
    list.add(more, settings.all().flag("zuul.retryable").unwrap_or(false), faults);
    list.judge_delimiters(settings, faults);
    let backends = backends::Backends { settings, compat: gateway.compat, services: &services }.resolve(&list, faults);
    // A key that is at fault can be the reason why a backend is not there: mended, the next look tells what is left.
    if faults.iter().all(|fault| fault.severity != Severity::Error) {
        backends::tell_unused(settings, &backends, faults);
    }
    let routes = list.into_routes();
    gateway.rate_limits = rate_limit::rate_limits(settings, &routes, faults);
    Config {
        application_name: settings.all().words("spring.application.name").unwrap_or_else(|| "portcullis".into()),
        thread_pools: isolation::thread_pools(settings, &backends),
        management: management::management(settings, server.port, faults),
        logging: management::logging(settings),
        routes,
        server,
        zuul,
        gateway,
        backends,
    }
}
