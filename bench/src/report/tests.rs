//! A small measurement that never happened, told in both forms, and looked at as a reader or a parser would.

mod pages;
mod synthetic;

use super::section::document;
use super::{PLOTS, document::Block, file_of, html, markdown, write};
use crate::raw::{Data, Fact};
use synthetic::{Dir, measurement};

fn pages(data: &Data) -> (String, String) {
    let document = document(data, "2026-11-30");
    (markdown::render(&document, file_of), html::render(&document))
}

#[track_caller]
fn assert_says(text: &str, sentence: &str) {
    // The lines that begin alike show what is said instead; the whole report would hide it.
    let begin = sentence.get(..12).unwrap_or(sentence);
    let alike: Vec<&str> = text.lines().filter(|line| line.contains(begin)).collect();
    assert!(text.contains(sentence), "{sentence:?} is missing; there are {alike:#?}");
}

#[test]
fn verdicts_are_sentences_with_their_spread() {
    let (text, page) = pages(&measurement());
    for sentence in [
        "portcullis served 0.60 times (0.58..0.62, 5 pairs) the requests of nginx. Capacity probe (closed loop).",
        "Within noise: portcullis served 1.01 times (0.98..1.03, 5 pairs) the requests of async twin.",
        "portcullis spent 1.50 times (1.50..1.50, 5 pairs) the processor time of nginx on a request.",
        "At 99 %, portcullis took 2.00 times (2.00..2.00, 5 pairs) as long as async twin.",
        "portcullis took 0.50 times (0.50..0.50, 5 pairs) the memory of async twin.",
        "portcullis had 4.00 times (4.00..4.00, 5 pairs) the threads of async twin.",
        "Of its requests, portcullis left 20.0 % without a right answer in time.",
        "Of its requests, portcullis left 28.0 % without a right answer in time.",
    ] {
        assert_says(&text, sentence);
        assert_says(&page, sentence);
    }
}

#[test]
fn the_answer_in_short_counts_the_cells() {
    // 50 ms and both of 100 ms, memory of both; seed0 twice and overload.
    let counted =
        "Of 8 cells that have both, portcullis is better in 2, its async twin in 3; 3 are within noise, 0 have";
    assert_says(&pages(&measurement()).0, counted);
}

#[test]
fn who_was_still_warming_up_is_told_and_counts_for_nobody() {
    let mut data = measurement();
    let cold = |run: &&mut crate::raw::Run| run.scenario == "sweep" && run.contestant == "twin" && run.delay_ms == 50.0;
    data.runs.iter_mut().filter(cold).filter(|run| run.round > 2).for_each(|run| run.warmed_up = Some(false));
    let (text, page) = pages(&data);
    for text in [&text, &page] {
        assert_says(text, "No verdict: still warming up: at 99 %, portcullis took 2.00 times");
        assert_says(text, "Warm-up had not settled in 3 of 5 runs (of async twin).");
        assert_says(
            text,
            "Of 8 cells that have both, portcullis is better in 2, its async twin in 2; 3 are within noise, 1 have",
        );
    }
    data.runs.iter_mut().filter(cold).filter(|run| run.round > 3).for_each(|run| run.warmed_up = Some(true));
    let text = pages(&data).0;
    assert_says(&text, "Warm-up had not settled in 1 of 5 runs (of async twin).");
    assert!(!text.contains("still warming up: "));
}

#[test]
fn a_rate_to_which_the_warm_up_did_not_lead_is_none_that_was_settled() {
    let mut data = measurement();
    let closed = |run: &&mut crate::raw::Run| run.cell == "30 s, first" && run.contestant == "nginx";
    for run in data.runs.iter_mut().filter(closed) {
        run.tool = "wrk".into();
        let window = crate::raw::Window { run: run.id, phase: "warm-up".into(), goodput: 50.0, ..Default::default() };
        data.windows.push(window);
    }
    assert_says(&pages(&data).0, "No verdict: still warming up: portcullis served 0.60 times");
    assert_says(&pages(&data).0, "Warm-up had not settled in 5 of 5 runs (of nginx).");
    assert_says(&pages(&data).0, "hide all but the last. Still warming up: nginx (30 s, first)");
}

#[test]
fn cells_in_which_both_reach_what_their_connections_allow_are_left_out_of_the_count() {
    let mut data = measurement();
    // portcullis serves 580 to 620, the twin about as much.
    for run in data.runs.iter_mut().filter(|run| run.cell == "30 s, first") {
        (run.delay_ms, run.connections) = (200.0, 125);
    }
    let text = pages(&data).0;
    assert_says(
        &text,
        "Of 7 cells that have both, portcullis is better in 2, its async twin in 3; 2 are within noise, 0 have",
    );
    assert_says(&text, " One more cannot tell models apart, and is left out.");
    assert_says(&text, "| portcullis beside async twin | 7 | 2 | 3 | 2 | 0 | 1 |");
    assert_says(
        &text,
        "No verdict: this cell cannot tell models apart, both are at the ceiling of its closed loop: portcullis",
    );
}

#[test]
fn a_void_run_is_named_and_gives_no_verdict() {
    let (text, _) = pages(&measurement());
    assert_says(
        &text,
        "portcullis, HAProxy: no verdict from 4 valid pairs, 5 are needed (round 2: HAProxy is void: the client was late).",
    );
    assert_says(&text, "| seed0 | 30 s, first | equalised | HAProxy | 2 | the client was late |");
    assert_says(&text, "| 30 s, first | equalised | HAProxy | 4 of 5 |");
}

#[test]
fn differences_stand_beside_the_verdict() {
    let mut data = measurement();
    assert!(!pages(&data).0.contains("Not like for like"));
    let value = "not like for like: 1 differences\n  chunked: answer: status: portcullis \"200\", async twin \"502\"";
    data.environment.push(Fact { key: "parity before seed0".into(), value: value.into() });
    let (text, page) = pages(&data);
    assert_says(&text, "Capacity probe (closed loop). Not like for like: 1 differences, the first: chunked: answer");
    assert!(!text.lines().any(|line| line.starts_with("| sweep") && line.contains("Not like for like")));
    assert_says(&page, "chunked: answer: status: portcullis &quot;200&quot;");
    data.participants.iter_mut().filter(|it| it.contestant == "nginx").for_each(|it| it.parity = "no X-Gateway".into());
    assert_says(&pages(&data).0, "Not like for like: nginx: no X-Gateway.");
    let kinds = "not like for like: 2 kinds of differences in 23 requests\n  GET: answer: a\n  PUT: answer: b";
    data.participants.iter_mut().filter(|it| it.contestant == "nginx").for_each(|it| it.parity = kinds.into());
    let text = pages(&data).0;
    assert_says(&text, "nginx: 2 kinds of differences in 23 requests, the first: GET: answer: a.");
    assert_says(
        &text,
        "| nginx, equalised, beside portcullis | not like for like: 2 kinds of differences in 23 requests;",
    );
    let later = Fact { key: "parity of nginx, equalised, in sweep".into(), value: kinds.into() };
    data.environment.push(later);
    assert_says(&pages(&data).0, "nginx, in sweep: 2 kinds of differences in 23 requests, the first: GET: answer: a.");
    data.environment.pop();
    let alike = "like for like in 23 requests";
    data.participants.iter_mut().filter(|it| it.contestant == "nginx").for_each(|it| it.parity = alike.into());
    let text = pages(&data).0;
    assert!(!text.contains("Not like for like: nginx"));
    assert_says(&text, "| nginx, equalised, beside portcullis | like for like in 23 requests |");
}

#[test]
fn a_quick_measurement_is_labelled_everywhere() {
    let mut data = measurement();
    let verdict = data.environment.iter_mut().find(|fact| fact.key == "verdict").expect("the fact");
    verdict.value = "none: one round of short cells".into();
    let document = document(&data, "quick");
    assert!(matches!(&document.blocks[0], Block::Warning(words) if words.starts_with("Not a verdict")));
    let tables = document.blocks.iter().filter_map(|block| match block {
        Block::Table(table) if table.columns.last().is_some_and(|column| column == "verdict") => Some(table),
        _ => None,
    });
    let said: Vec<&String> = tables.flat_map(|table| &table.rows).filter_map(|row| row.last()).collect();
    assert!(said.len() > 5);
    for sentence in said {
        assert!(sentence.starts_with("Not a verdict: ") || sentence.contains(": no verdict: "), "{sentence}");
    }
}

#[test]
fn what_a_reader_needs_is_there() {
    let data = measurement();
    let document = document(&data, "2026-11-30");
    let headings = document.blocks.iter().filter_map(|block| match block {
        Block::Heading(2, title) => Some(title.split(':').next().unwrap_or(title)),
        _ => None,
    });
    let expected = [
        "In short",
        "How to read this",
        "Who took part",
        "seed0",
        "sweep",
        "idle",
        "overload",
        "Void runs",
        "Limits, side by side",
        "Environment",
        "How verdicts are made",
        "What the kit does not show",
        "Appendix",
    ];
    assert_eq!(headings.collect::<Vec<_>>(), expected);
}

#[test]
fn goodput_is_defined_by_the_constant_that_counts_it() {
    let objective = crate::load::OBJECTIVE.as_secs();
    let said = format!("In time is what took no longer than {objective} s and the backend's delay");
    assert_says(&pages(&measurement()).0, &said);
}

#[test]
fn an_overload_tells_its_worst_window_and_where_the_load_turns() {
    let data = measurement();
    let document = document(&data, "2026-11-30");
    let over_time: Vec<_> = document.plots().filter(|plot| plot.title.contains("over time: overload")).collect();
    assert_eq!(over_time.len(), 2);
    for plot in over_time {
        let guides: Vec<_> = plot.guides.iter().map(|guide| guide.label.as_str()).collect();
        assert_eq!(guides, ["load rises to 200 %", "load falls to 50 %"]);
    }
    let text = pages(&data).0;
    let heads = text.lines().find(|line| line.contains("recovered after ms")).expect("a table of overload");
    let columns: Vec<&str> = heads.split(" | ").collect();
    let row = text.lines().find(|line| line.starts_with("| 50 %, 200 %, 50 % | equalised | portcullis | 5 of 5"));
    let row: Vec<&str> = row.expect("a row").split(" | ").collect();
    let of = |name: &str| row[columns.iter().position(|column| column.contains(name)).expect("a column")];
    assert_eq!((of("right, but late"), of("least served")), ("10.0 %", "40.0 %"));
    assert_eq!(of("recovered after").trim_end_matches(" |"), "250 (250..250)");
}

#[test]
fn a_repetition_says_what_is_otherwise() {
    assert_says(
        &pages(&measurement()).0,
        "A repetition as far as its author told how. Its author published figures of the service alone",
    );
}

#[test]
fn what_answers_stand_on_and_was_not_played_is_told() {
    let text = pages(&measurement()).0;
    assert_says(&text, "Scenarios of this report: seed0, sweep, idle, overload.");
    let row =
        |id: &str| text.lines().find(|line| line.starts_with(&format!("| {id} |"))).expect("an answer").to_owned();
    assert!(row("B17").ends_with(" Not in this report: isolation, tail, bodies. |"), "{}", row("B17"));
    assert!(row("B27").ends_with("during a run. Not in this report: isolation. |"), "{}", row("B27"));
    assert!(!row("B28").contains("Not in this report"));
}

#[test]
fn plots_show_what_the_scenarios_are_about() {
    let data = measurement();
    let titles: Vec<String> = document(&data, "2026-11-30").plots().map(|plot| plot.title.clone()).collect();
    for begin in [
        "Latency: seed0, 30 s, first, equalised",
        "Throughput over concurrency: seed0",
        "Crossover: portcullis and its async twin, offered rate against delay",
        "Latency at 99 % over the offered rate",
        "Goodput over the offered rate",
        "Memory over idle connections",
        "Threads over idle connections",
        "Right answers over time: overload",
        "Refusals and failures over time: overload",
    ] {
        assert!(titles.iter().any(|title| title.starts_with(begin)), "{begin}: {titles:#?}");
    }
}

#[test]
fn who_served_nothing_is_named_where_the_scale_has_no_zero() {
    let note = |data: &Data| {
        let document = document(data, "2026-11-30");
        let plots = document.plots().filter(|plot| plot.title.starts_with("Throughput over concurrency"));
        plots.map(|plot| plot.note.clone()).collect::<String>()
    };
    let mut data = measurement();
    assert!(!note(&data).contains("no point"));
    for run in data.runs.iter_mut().filter(|run| run.scenario == "seed0") {
        match run.contestant.as_str() {
            "nginx" => run.goodput = 10.0,
            "twin" => run.goodput = 0.0,
            _ => {}
        }
    }
    assert!(note(&data).ends_with("where no point is drawn: async twin"), "{}", note(&data));
}

#[test]
fn littles_line_is_where_the_measurement_had_its_threads() {
    let mut data = measurement();
    let line = |data: &Data| {
        let document = document(data, "2026-11-30");
        let titles = document.plots().filter(|plot| plot.title.starts_with("Crossover"));
        titles.flat_map(|plot| &plot.guides).map(|guide| guide.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(line(&data), ["Little's law, rate × delay = 200 threads"]);
    data.environment.push(Fact { key: "threads in sweep".into(), value: "50".into() });
    assert_eq!(line(&data), ["Little's law, rate × delay = 50 threads"]);
}

#[test]
fn the_limits_of_both_configurations_stand_side_by_side() {
    let (text, _) = pages(&measurement());
    assert_says(&text, "| limit | stock | equalised |");
    assert_says(&text, "| isolation: zuul.semaphore.max-semaphores | 100 (its own) | 20000 |");
    assert_says(&text, "| Zuul 1 | mvn was not found; Debian: apt-get install maven |");
}

#[test]
fn results_are_told_again_over_an_older_report() {
    let dir = Dir::new("again");
    measurement().write(&dir.0).expect("written");
    write(&dir.0).expect("written");
    std::fs::write(dir.0.join(PLOTS).join("of-an-older-report.svg"), "").expect("written");
    let pages = write(&dir.0).expect("written again");
    let text = std::fs::read_to_string(pages.markdown).expect("text");
    // Ids are given anew; all else is as it was.
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        self::pages(&measurement()).0.lines().skip(1).collect::<Vec<_>>()
    );
    let mut linked: Vec<&str> = text.lines().filter(|line| line.starts_with("![")).filter_map(pages::target).collect();
    linked.sort_unstable();
    let mut found: Vec<String> = std::fs::read_dir(dir.0.join(PLOTS))
        .expect("plots")
        .map(|entry| format!("{PLOTS}/{}", entry.expect("an entry").file_name().to_string_lossy()))
        .collect();
    found.sort();
    assert!(linked.len() > 8);
    assert_eq!(linked, found);
    for plot in found {
        let text = std::fs::read_to_string(dir.0.join(plot)).expect("a plot");
        roxmltree::Document::parse(&text).expect("well-formed");
    }
}

#[test]
fn what_was_measured_in_parts_is_told_as_one() {
    let dir = Dir::new("parts");
    let whole = measurement();
    let part = |name: &str, is_of: &dyn Fn(&str) -> bool| {
        let runs = whole.runs.iter().filter(|run| is_of(&run.scenario)).cloned().collect();
        let path = dir.0.join(name);
        Data { runs, ..whole.clone() }.write(&path).expect("written");
        path
    };
    let parts = [part("sweep", &|name| name == "sweep"), part("rest", &|name| name != "sweep")];
    let into = dir.0.join("whole");
    crate::comparison::join(&parts, &into, false).expect("joined");
    let joined = Data::read(&into).expect("read");
    assert_eq!((joined.runs.len(), &joined.participants), (whole.runs.len(), &whole.participants));
    assert_eq!(joined.latencies.len(), whole.latencies.len());
    let text = std::fs::read_to_string(into.join("report.md")).expect("a report");
    assert!(text.contains("## sweep") && text.contains("## overload"));
    let again = crate::comparison::join(&parts, &into, false).expect_err("nothing is overwritten");
    assert!(again.to_string().contains("runs.csv"), "{again}");
    let error = crate::comparison::join(&[parts[0].clone(), into], &dir.0.join("twice"), false).expect_err("refused");
    assert!(error.to_string().starts_with("sweep is in both "), "{error}");
}

/// Each file below `dir` but the raw data, with its octets.
fn told(dir: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let list = |dir: &std::path::Path| -> Vec<_> {
        std::fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()).collect()
    };
    let files = [list(dir), list(&dir.join(PLOTS))].concat().into_iter();
    let told = files.filter(|path| path.is_file() && path.extension().is_none_or(|extension| extension != "csv"));
    told.map(|path| (path.strip_prefix(dir).expect("below").to_owned(), std::fs::read(&path).expect("read"))).collect()
}

#[test]
fn the_raw_data_alone_give_the_same_report_to_the_octet() {
    let (first, second) = (Dir::new("first"), Dir::new("second"));
    let (here, there) = (first.0.join("2026-11-30"), second.0.join("2026-11-30"));
    measurement().write(&here).expect("written");
    write(&here).expect("written");
    std::fs::create_dir_all(&there).expect("made");
    for name in ["runs", "latencies", "windows", "contestants", "environment"].map(|name| format!("{name}.csv")) {
        std::fs::copy(here.join(&name), there.join(&name)).expect("copied");
    }
    write(&there).expect("written again");
    let files = told(&here);
    assert!(
        files.contains_key(std::path::Path::new("report.md"))
            && files.contains_key(std::path::Path::new("report.html"))
    );
    assert!(files.len() > 10 && files == told(&there));
}

#[test]
fn a_measurement_that_was_interrupted_at_once_can_be_told() {
    let (text, page) = pages(&Data::default());
    assert_says(&text, "0 runs, 0 of them void");
    pages::assert_well_formed(&page);
}

#[test]
fn a_directory_without_results_is_named() {
    let dir = Dir::new("nothing");
    let error = write(&dir.0).err().expect("no results").to_string();
    assert!(error.contains("runs.csv"), "{error}");
}
