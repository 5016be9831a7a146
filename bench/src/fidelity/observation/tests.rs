//! What is normalised and what is not, as tables.

use super::*;
use crate::fidelity::backend::Recorded;
use crate::message::{Kind, octets, read};
use std::time::{Duration, Instant};

fn message(text: &str, kind: Kind) -> Message {
    read(&mut octets(&text.replace('\n', "\r\n")).as_slice(), kind).unwrap().unwrap()
}

fn seen(target: &str, request: &str, answer: &str) -> Observation {
    let probe = Probe { target: target.into(), ..Probe::default() };
    let reply = Reply { answer: Some(message(answer, Kind::Answer { to_head: false })), ..Reply::default() };
    let requests = vec![Recorded { server: 0, message: message(request, Kind::Request) }];
    let seen = Seen { requests, peak: 1, rest_sent: None };
    without_ports(observe(&probe, &[reply], &seen), &[(43210, "<gateway>")])
}

#[test]
fn what_differs_from_run_to_run_is_no_difference() {
    let answer = |time: &str| {
        format!("HTTP/1.1 500 \nDate: {time}\nTransfer-Encoding: chunked\n\n11\n{{\"timestamp\":\"{time}\"}}\n0\n\n")
    };
    let request = "GET / HTTP/1.1\nhost: a:43210\n\n";
    let (one, two) = (seen("/svc", request, &answer("1")), seen("/svc", request, &answer("2")));
    assert_eq!(compare("p", &one, &two), []);
    assert_eq!(one["body"], "{\"timestamp\":\"<time>\"}");
    assert_eq!(one["upstream field host"], "a:<gateway>");
}

#[test]
fn what_the_java_client_adds_is_left_out_and_what_a_client_sent_is_not() {
    let answer = "HTTP/1.1 200 OK\nContent-Length: 0\n\n";
    let java = "GET / HTTP/1.1\nHost: a\nAccept-Encoding: gzip\nConnection: Keep-Alive\nUser-Agent: Apache-HttpClient/4.5.13\n\n";
    assert_eq!(compare("p", &seen("/svc", java, answer), &seen("/svc", "GET / HTTP/1.1\nhost: a\n\n", answer)), []);
    let client = "GET / HTTP/1.1\nHost: a\nuser-agent: curl\n\n";
    let differences = compare("p", &seen("/svc", client, answer), &seen("/svc", "GET / HTTP/1.1\nhost: a\n\n", answer));
    assert_eq!(differences.len(), 1);
    assert_eq!((differences[0].aspect.as_str(), differences[0].zuul.as_str()), ("upstream field user-agent", "curl"));
}

#[test]
fn order_counts_on_url_routes_and_for_common_fields_alone() {
    let answer = |fields: &str| format!("HTTP/1.1 200 OK\n{fields}Content-Length: 0\n\n");
    let request = "GET / HTTP/1.1\nhost: a\n\n";
    let aspects = |target: &str, one: &str, two: &str| -> Vec<String> {
        let differences = compare("p", &seen(target, request, &answer(one)), &seen(target, request, &answer(two)));
        differences.into_iter().map(|difference| difference.aspect).collect()
    };
    assert_eq!(aspects("/url", "A: 1\nB: 1\n", "B: 1\nA: 1\n"), ["order"]);
    assert_eq!(aspects("/svc", "A: 1\nB: 1\n", "B: 1\nA: 1\n"), [""; 0]);
    assert_eq!(aspects("/url", "A: 1\nB: 1\n", "A: 1\nC: 1\nB: 1\n"), ["field c"]);
    assert_eq!(aspects("/svc", "A: 1\nA: 2\n", "A: 2\nA: 1\n"), ["field a"]);
    assert_eq!(aspects("/svc", "A:\n", ""), ["field a"]);
}

#[test]
fn several_requests_are_compared_by_their_statuses() {
    let reply =
        |start: &str| Reply { answer: Some(message(start, Kind::Answer { to_head: false })), ..Reply::default() };
    let replies = [
        reply("HTTP/1.1 500 \nConnection: close\n\n"),
        reply("HTTP/1.1 200 \n\n"),
        Reply::default(),
        reply("HTTP/1.1 200 \n\n"),
    ];
    let observed = |probe: Probe| observe(&probe, &replies, &Seen { peak: 3, ..Seen::default() });
    let at_once = observed(Probe { parallel: 4, ..Probe::default() });
    assert_eq!(
        (at_once["statuses"].as_str(), at_once["at once upstream"].as_str()),
        ("2 x 200, 1 x 500, 1 x no answer", "3")
    );
    let in_line = observed(Probe { repeat: 4, ..Probe::default() });
    assert_eq!((in_line["statuses"].as_str(), in_line["closed after"].as_str()), ("500 200 no answer 200", "1"));
}

#[test]
fn a_boundary_that_was_made_up_is_replaced_and_the_clients_own_is_not() {
    let request = "POST / HTTP/1.1\nContent-Type: multipart/form-data;boundary=xyz\nContent-Length: 5\n\n--xyz";
    let made_up = without_boundary(&Probe::default(), &message(request, Kind::Request));
    assert_eq!(
        (made_up.body.as_str(), made_up.fields[0].1.as_str()),
        ("--<boundary>", "multipart/form-data;boundary=<boundary>")
    );
    let own = Probe { fields: vec!["Content-Type: multipart/form-data; boundary=xyz".into()], ..Probe::default() };
    assert_eq!(without_boundary(&own, &message(request, Kind::Request)).body, "--xyz");
}

#[test]
fn long_values_are_shown_where_they_differ() {
    let of = |body: String| Observation::from([("body".to_owned(), body)]);
    let differences = compare("p", &of("x".repeat(1000) + "a"), &of("x".repeat(1000) + "b"));
    assert_eq!(differences.len(), 1);
    let shown = format!("...{}a... (1001 octets)", "x".repeat(40));
    assert_eq!(differences[0].zuul, shown);
}

#[test]
fn what_follows_from_a_refusal_is_not_told_again() {
    let of = |pairs: &[(&str, &str)]| -> Observation {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    };
    let aspects = |one: &Observation, two: &Observation| -> Vec<String> {
        compare("p", one, two).into_iter().map(|difference| difference.aspect).collect()
    };
    let passed = of(&[
        ("status", "200"),
        ("body", "a"),
        ("upstream requests", "1"),
        ("upstream request line", "GET /"),
        ("upstream body", "b"),
    ]);
    let refused = of(&[("status", "400"), ("body", "c"), ("upstream requests", "0")]);
    assert_eq!(aspects(&passed, &refused), ["status", "upstream requests"]);
    // Two failures are compared whole.
    assert_eq!(aspects(&of(&[("status", "500"), ("body", "a")]), &refused), ["body", "status", "upstream requests"]);
}

#[test]
fn times_are_compared_by_the_limits_that_had_passed() {
    let probe = Probe { limits: vec![400, 1000], ..Probe::default() };
    let ended = |took| {
        let reply = Reply { took: Duration::from_millis(took), ..Reply::default() };
        observe(&probe, &[reply], &Seen::default())["ended"].clone()
    };
    assert_eq!([399, 400, 999, 1700].map(ended), ["at once", "after 400 ms", "after 400 ms", "after 1000 ms"]);
    let at_once = Probe { parallel: 2, ..probe.clone() };
    let replies = [Reply::default(), Reply { took: Duration::from_secs(1), ..Reply::default() }];
    let observed = observe(&at_once, &replies, &Seen::default());
    assert_eq!(observed["statuses"], "1 x no answer after 1000 ms, 1 x no answer at once");
    assert_eq!(observe(&Probe::default(), &[Reply::default()], &Seen::default()).get("ended"), None);
}

#[test]
fn messages_are_told_where_several_answers_are_counted() {
    let reply = |body: &str| Reply {
        answer: Some(message(&format!("HTTP/1.1 500 \n\n{body}"), Kind::Answer { to_head: false })),
        ..Reply::default()
    };
    let replies = [reply("{\"message\":\"SHORTCIRCUIT\",\"a\":\"b\"}"), reply("{\"message\":\"\"}")];
    assert_eq!(
        observe(&Probe { repeat: 2, ..Probe::default() }, &replies, &Seen::default())["statuses"],
        "500 SHORTCIRCUIT 500"
    );
}

#[test]
fn an_answer_that_is_passed_on_as_it_comes_is_told_from_one_that_is_kept_back() {
    let sent = Instant::now();
    let came = |head: Instant| {
        let (reply, seen) =
            (Reply { head: Some(head), ..Reply::default() }, Seen { rest_sent: Some(sent), ..Seen::default() });
        observe(&Probe::default(), &[reply], &seen)["head came"].clone()
    };
    assert_eq!(came(sent - Duration::from_millis(1)), "before the rest of the answer");
    assert_eq!(came(sent + Duration::from_millis(1)), "after the rest of the answer");
}

#[test]
fn how_long_the_steps_of_a_request_took_is_left_out() {
    assert_eq!(without_times("[[[queue: 0.01ms]]][[[a 2ms"), "[[[queue: <time>ms]]][[[a <time>ms");
    assert_eq!(without_times("[[[1 of 2]]]"), "[[[1 of 2]]]");
    assert_eq!(without_times("[a.Pair@55b2656b, a.Pair@0]"), "[a.Pair@<hash>, a.Pair@<hash>]");
}

#[test]
fn lists_without_an_order_are_sorted() {
    assert_eq!(sorted("{\"b\":[{\"n\":2},{\"n\":1}],\"a\":0}"), "{\"b\":[{\"n\":1},{\"n\":2}],\"a\":0}");
    assert_eq!(sorted("no JSON"), "no JSON");
}
