//! Contestants without starting them.

use super::*;
use std::collections::BTreeSet;

#[test]
fn each_has_a_name_of_its_own() {
    let names: Vec<&str> = all().map(|contestant| contestant.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| named(name).is_some_and(|contestant| contestant.name == *name)));
    assert!(named("zuul3").is_none());
}

#[test]
fn both_configurations_have_the_same_rows_so_that_they_can_stand_side_by_side() {
    for contestant in all() {
        let setup = |configuration| Setup { configuration, ..Setup::new(([127, 0, 0, 1], 1).into()) };
        let rows = |configuration| -> Vec<String> {
            contestant.limits(&setup(configuration)).into_iter().map(|limit| limit.key).collect()
        };
        assert_eq!(rows(Configuration::Stock), rows(Configuration::Equalised), "{}", contestant.name);
        assert_eq!(rows(Configuration::Stock).is_empty(), contestant.family == Family::None, "{}", contestant.name);
    }
}

#[test]
fn a_file_in_springs_dialect_has_the_routes_and_what_is_told() {
    let scratch = Scratch::new().unwrap();
    let setup = Setup {
        overrides: vec![("zuul.semaphore.max-semaphores".into(), "7".into())],
        ..Setup::new(([127, 0, 0, 1], 9).into())
    };
    let contestant = named("zuul1").unwrap();
    let limits = contestant.limits(&setup);
    let launch = Launch { name: contestant.name, setup: &setup, limits: &limits, scratch: &scratch };
    let file = spring::write_properties(&launch, "services", ([127, 0, 0, 1], 8).into()).unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    for line in [
        "server.port=8",
        "zuul.routes.product.path=/product/**",
        "product.ribbon.listOfServers=127.0.0.1:9",
        "zuul.semaphore.max-semaphores=7",
        "server.tomcat.threads.max=200",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
    }
    assert!(!text.contains("-Xmx") && !text.contains("accesslog"), "{text}");
}

/// What both are told makes them do the same, but for one thing in stock, which is told.
#[test]
fn the_twin_as_it_is_measured_lacks_the_least_rate_in_stock_and_nothing_equalised() {
    let scratch = Scratch::new().unwrap();
    let lacks = |configuration| {
        let setup = Setup { configuration, ..Setup::new(([127, 0, 0, 1], 9).into()) };
        let twin = named("twin").unwrap();
        let limits = twin.limits(&setup);
        let launch = Launch { name: twin.name, setup: &setup, limits: &limits, scratch: &scratch };
        spring::write_properties(&launch, "services", ([127, 0, 0, 1], 8).into()).unwrap();
        let rate = limits.iter().find(|limit| limit.key == "gateway.client.min-rate").unwrap();
        (twin_lacks(&scratch).unwrap(), rate.value.clone())
    };
    assert_eq!(lacks(Configuration::Equalised), (vec![], "0".into()));
    let line = "not in the twin: a least rate of clients, which is on unless gateway.client.min-rate is 0";
    assert_eq!(lacks(Configuration::Stock), (vec![line.to_owned()], "none: not in the twin".into()));
}

#[test]
fn each_tells_its_backlog_and_how_long_it_waits_for_clients() {
    for contestant in all().filter(|contestant| contestant.family != Family::None) {
        let limits = contestant.limits(&Setup::new(([127, 0, 0, 1], 1).into()));
        let has = |stage: Stage, words: &[&str]| {
            limits.iter().any(|limit| limit.stage == stage && words.iter().any(|word| limit.key.contains(word)))
        };
        assert!(has(Stage::Backlog, &[""]), "{}", contestant.name);
        let first = ["connection-timeout", "client_header_timeout", "http-request", "request.read.timeout"];
        assert!(has(Stage::Timeout, &first), "{}", contestant.name);
        let idle = ["keep-alive", "keepalive_timeout", "idle"];
        assert!(has(Stage::Timeout, &idle), "{}", contestant.name);
    }
}

/// What was asked for at the start would be all that memory shows.
#[test]
fn every_jvm_has_the_same_heap_and_it_begins_small() {
    let jvms: Vec<_> =
        all().filter(|it| it.knobs.iter().flat_map(|knobs| knobs.iter()).any(|knob| knob.key == "-Xmx")).collect();
    assert_eq!(jvms.len(), 7);
    for jvm in jvms {
        for configuration in [Configuration::Stock, Configuration::Equalised] {
            let limits = jvm.limits(&Setup { configuration, ..Setup::new(([127, 0, 0, 1], 1).into()) });
            let heap = limits.iter().filter(|limit| limit.stage == Stage::Memory && limit.told);
            let heap: Vec<_> = heap.map(|limit| (limit.key.as_str(), limit.value.as_str())).collect();
            assert_eq!(heap, [("-Xms", "32m"), ("-Xmx", "1g"), ("-XX:+UseG1GC", "on")], "{}", jvm.name);
        }
    }
}

#[test]
fn free_addresses_are_none_that_the_system_gives_away() {
    let [one, two] = [free_address().unwrap(), free_address().unwrap()];
    assert!(one != two && one.port() < 32_000 && two.port() < 32_000);
}
