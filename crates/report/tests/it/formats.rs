//! Tests of the formats for other programs: each figure is the record's, and no string from outside controls the
//! output.

use looptax_model::record::{Figure, Missing, Placement, Record, Verdict};
use looptax_report::terminal::{Style, compare};
use looptax_report::{benchmark_json, csv, markdown, openmetrics};

use crate::VERBOSE;
use crate::made_up::{comparison, record};

const HOSTILE: &str = "<script>|`@all`\u{1b}[2J\u{202e}\"\\\n=1+1";

/// Makes a record with a clear difference, an arm whose interval has no lower end, an invalid arm, and no p99.9.
fn awkward() -> Record {
    let clear = comparison(1, Placement::Same, [87_900.0, 74_812.5]);
    let mut open = comparison(16, Placement::Same, [1.0 / 3.0, 0.25]);
    open.tax[0].throughput_pct = Figure::new(25.049, f64::NEG_INFINITY, 31.26, 6);
    open.tax[0].verdict = Verdict::Inconclusive;
    open.tax[0].latency_us.p999 = Figure::Missing(Missing { na: "needs about 40 s".to_owned() });
    let mut invalid = comparison(64, Placement::Free, [2_000_000.0, 1e9]);
    invalid.tax[0].verdict = Verdict::Invalid;
    record(vec![clear, open, invalid], Vec::new())
}

fn hostile() -> Record {
    let mut it = awkward();
    for comparison in &mut it.comparisons {
        HOSTILE.clone_into(&mut comparison.target.version);
        HOSTILE.clone_into(&mut comparison.workload.name);
        comparison.warnings.push(HOSTILE.to_owned());
        for arm in &mut comparison.arms {
            HOSTILE.clone_into(&mut arm.name);
        }
        HOSTILE.clone_into(&mut comparison.tax[0].arm);
    }
    HOSTILE.clone_into(&mut it.id);
    HOSTILE.clone_into(&mut it.host.kernel);
    it.command = vec![HOSTILE.to_owned(), "```".to_owned()];
    it.problems.push(HOSTILE.to_owned());
    it
}

#[test]
fn csv_gives_the_records_numbers_back_to_the_last_digit() {
    let it = awkward();
    let text = csv(&[&it, &it]);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let find = |connections: &str, metric: &str| {
        let row = rows.iter().find(|row| &row[5] == connections && &row[10] == metric && !row[9].is_empty());
        row.unwrap().clone()
    };
    let row = find("16", "throughput_tax");
    assert_eq!(row[12].parse::<f64>().unwrap().to_bits(), 25.049_f64.to_bits());
    // The cell for a missing end of an interval is empty, and not a number.
    assert_eq!((&row[13], &row[14], &row[15]), ("", "31.26", "6"));
    assert_eq!(&row[16], "inconclusive");
    let row = find("16", "latency_tax_p999");
    assert_eq!((&row[12], &row[17]), ("", "needs about 40 s"));
    assert_eq!(&find("64", "throughput_tax")[16], "invalid");
    let third = rows.iter().find(|row| &row[5] == "16" && &row[8] == "unix" && &row[10] == "throughput");
    let third: f64 = third.unwrap()[12].parse().unwrap();
    assert_eq!(third.to_bits(), (1.0_f64 / 3.0).to_bits());
    // The rows of both records are present.
    assert_eq!(rows.len() % 2, 0);
}

#[test]
fn the_table_of_markdown_says_what_the_terminal_says() {
    let it = awkward();
    let style = Style { width: 200, color: false, unicode: true };
    let terminal = compare(&it, VERBOSE, style);
    let markdown = markdown(&it).replace('\\', "");
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    let cells: Vec<&str> = rows
        .skip(2)
        .flat_map(|row| row.trim_matches('|').split(" | "))
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect();
    assert!(cells.len() > 9, "{markdown}");
    let flat: String = terminal.split_whitespace().collect();
    for cell in cells {
        let cell: String = cell.split_whitespace().collect();
        assert!(flat.contains(&cell), "{cell} in {terminal}");
    }
    assert!(markdown.contains("<details><summary>Machine and command"));
}

#[test]
fn nothing_foreign_becomes_markup_or_a_mention() {
    let text = markdown(&hostile());
    // The text before the fenced command; the command itself is shown unchanged.
    let before_command = text.split("````").next().unwrap();
    assert!(!before_command.contains("<script>"), "{text}");
    assert!(!before_command.contains("@all"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    assert_eq!(text.matches("````").count(), 2, "{text}");
    let table: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let n_cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(table.iter().all(|line| n_cells(line) == n_cells(table[0])), "{text}");
}

#[test]
fn openmetrics_has_a_gauge_for_each_figure_and_escapes_labels() {
    let text = openmetrics(&awkward());
    assert!(text.ends_with("# EOF\n"), "{text}");
    let labels = "server=\"mariadb\",workload=\"point-select\",connections=\"16\",placement=\"same\",\
                  client=\"poll\",arm=\"tcp\",baseline=\"unix\"";
    assert!(text.contains(&format!("looptax_throughput_tax_ratio{{{labels}}} 0.25049")));
    assert!(!text.contains(&format!("looptax_throughput_tax_ratio_lower{{{labels}}}")));
    assert!(text.contains(&format!("looptax_throughput_tax_ratio_upper{{{labels}}} 0.3126")));
    assert!(text.contains("verdict=\"invalid\"} 1"));
    let text = openmetrics(&hostile());
    assert!(!text.contains('\u{1b}'), "{text}");
    for line in text.lines() {
        let is_whole = line.starts_with("# ") || line.rsplit_once("} ").is_some();
        assert!(is_whole, "{line}");
    }
}

#[test]
fn a_benchmark_action_gets_names_units_and_values() {
    let entries: serde_json::Value = serde_json::from_str(&benchmark_json(&awkward())).unwrap();
    let entries = entries.as_array().unwrap();
    let lost = entries
        .iter()
        .find(|it| it["name"] == "mariadb point-select, 1 connection, same, poll: tcp vs unix, throughput lost");
    let lost = lost.unwrap();
    assert_eq!(lost["unit"], "%");
    assert!((lost["value"].as_f64().unwrap() - 14.89).abs() < 0.01, "{lost}");
    assert_eq!(lost["range"], "± 0.500");
    assert!(entries.iter().all(|it| it["value"].is_number()));
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let it = awkward();
    assert_eq!(markdown(&it), markdown(&it.clone()));
    assert_eq!(openmetrics(&it), openmetrics(&it.clone()));
    assert_eq!(csv(&[&it]), csv(&[&it.clone()]));
}
