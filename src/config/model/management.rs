//! `management.*`: the actuator.

use std::net::IpAddr;
use std::time::Duration;

/// `management.*`.
#[derive(Clone, Debug)]
pub struct ManagementConfig {
    /// `management.server.port`; `None`: on the main port, below the routes.
    pub port: Option<u16>,
    /// `management.server.address`; default `server.address`.
    pub address: Option<IpAddr>,
    /// `management.endpoints.web.base-path`; default `/actuator`.
    pub base_path: String,
    /// `management.endpoints.web.exposure.*`.
    pub exposure: EndpointExposure,
    /// `management.endpoint.health.show-details`; default never.
    pub show_details: ShowDetails,
    /// `info.*`: what `/actuator/info` tells, as dotted keys and values, in order.
    pub info: Vec<(String, String)>,
    /// What `hystrix.stream` is told.
    pub stream: StreamConfig,
}

/// `/actuator/hystrix.stream`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// `hystrix.stream.dashboard.intervalInMilliseconds`: how often every command and pool is told; default 500 ms.
    pub interval: Duration,
    /// `hystrix.config.stream.maxConcurrentConnections`: clients at once; default 5.
    pub max_clients: usize,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self { interval: Duration::from_millis(500), max_clients: 5 }
    }
}

/// `management.endpoints.web.exposure.{include,exclude}`; `*` stands for all, exclude wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointExposure {
    /// Default health and info.
    pub include: Vec<String>,
    /// Default none.
    pub exclude: Vec<String>,
}

impl EndpointExposure {
    /// Whether the endpoint of this id can be asked.
    pub fn exposes(&self, id: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == "*" || name.eq_ignore_ascii_case(id));
        names(&self.include) && !names(&self.exclude)
    }
}

impl Default for EndpointExposure {
    fn default() -> Self {
        Self { include: vec!["health".into(), "info".into()], exclude: Vec::new() }
    }
}

/// `management.endpoint.health.show-details`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShowDetails {
    /// Status alone.
    #[default]
    Never,
    /// Components too. (`when-authorized` counts as never: nobody can be authorised here.)
    Always,
}

impl Default for ManagementConfig {
    fn default() -> Self {
        Self {
            port: None,
            address: None,
            base_path: "/actuator".into(),
            exposure: EndpointExposure::default(),
            show_details: ShowDetails::Never,
            info: Vec::new(),
            stream: StreamConfig::default(),
        }
    }
}
