//! The resolved configuration: plain data with Spring's names and defaults (Boot 2.3, Hoxton; `zuul.*` as in ZuulProperties).

mod backend;
mod balance;
mod command;
mod gateway;
mod management;
mod retry;
mod server;
mod zuul;

pub use backend::{
    AdaptiveLimit, BackendConfig, BackendKind, IsolationConfig, LimitLaw, Scheme, ServerAddress, ThreadPoolConfig,
};
pub use balance::{BalanceConfig, BalancingRule, BlackoutConfig, PingConfig};
pub use command::{
    CircuitConfig, CircuitMode, CommandConfig, FallbackAnswer, FallbackConfig, MetricsConfig, StaticAnswer,
    WindowConfig,
};
pub use gateway::{
    AccessLogConfig, AccessLogFormat, Compat, Container, ExampleConfig, GatewayConfig, HttpClient, QueueOrder,
    Scheduling,
};
pub use gateway::{RateLimitConfig, RateLimitKey, RateLimitsConfig};
pub use management::{EndpointExposure, ManagementConfig, ShowDetails, StreamConfig};
pub use retry::{BackoffConfig, RetryBudgetConfig, RetryConfig};
pub use server::{IncludeMessage, Relaxed, ServerConfig, Shutdown};
pub use zuul::{RouteConfig, RouteTarget, ZuulConfig};

use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything that the gateway was told.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// `spring.application.name`; default `portcullis`.
    pub application_name: String,
    /// `server.*`.
    pub server: ServerConfig,
    /// `zuul.*` but the routes.
    pub zuul: ZuulConfig,
    /// `zuul.routes.*` and the routes of `gateway.routes-file`, in the order in which they are tried.
    pub routes: Vec<RouteConfig>,
    /// What the routes lead to, by backend id: service id, or the route's own id for url routes.
    pub backends: BTreeMap<String, Arc<BackendConfig>>,
    /// `hystrix.threadpool.*`, resolved, for every pool key that a backend names.
    pub thread_pools: BTreeMap<String, ThreadPoolConfig>,
    /// `management.*`.
    pub management: ManagementConfig,
    /// `gateway.*`.
    pub gateway: GatewayConfig,
    /// `logging.level.*`: logger name (`root` for all) and level, in order.
    pub logging: Vec<(String, log::LevelFilter)>,
}
