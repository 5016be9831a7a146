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

#[test]
fn free_addresses_are_none_that_the_system_gives_away() {
    let [one, two] = [free_address().unwrap(), free_address().unwrap()];
    assert!(one != two && one.port() < 32_000 && two.port() < 32_000);
}
