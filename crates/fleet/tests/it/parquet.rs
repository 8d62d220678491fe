//! Reports as Parquet files, read back by Arrow's own implementation in C++, which scripts/try-parquet.sh brings.

use std::fs;
use std::path::Path;
use std::process::Command;

use looptax_fleet::{Access, Collector, Destination, Names, TABLES, to_lines};
use looptax_testkit::scratch::Scratch;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::{Map, Value};

use crate::made_up::batch;

/// Prints each table's rows as JSON lines, times in milliseconds, with the types that Arrow gives the columns on stderr.
const READ: &str = r#"
import json, pathlib, sys
import pyarrow.parquet as parquet, pyarrow
for table in sys.argv[2:]:
    for path in sorted(pathlib.Path(sys.argv[1], table).glob("*.parquet")):
        read = parquet.read_table(path)
        for field in read.schema:
            if field.type == pyarrow.timestamp("ms", tz="UTC"):
                place = read.schema.get_field_index(field.name)
                whole = read.column(place).cast(pyarrow.int64())
                read = read.set_column(place, field.name, whole)
            elif str(field.type) not in ("string", "int64", "double", "bool"):
                sys.exit(f"{field.name}: {field.type}")
        for row in read.to_pylist():
            print(json.dumps({"table": table, **row}))
"#;

fn read_back(folder: &Path) -> Vec<Map<String, Value>> {
    let python = std::env::var("LOOPTAX_PYARROW").expect("scripts/try-parquet.sh names it");
    let tables = TABLES.iter().map(|it| it.name);
    let mut command = Command::new(python);
    let output = command
        .args(["-c", READ])
        .arg(folder)
        .args(tables)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    lines(&String::from_utf8(output.stdout).unwrap())
}

fn lines(text: &str) -> Vec<Map<String, Value>> {
    let lines = text.lines().map(|line| {
        let mut row: Map<String, Value> = serde_json::from_str(line).unwrap();
        row.remove("schema_version");
        row
    });
    lines.collect()
}

fn sorted(rows: Vec<Map<String, Value>>) -> Vec<String> {
    let mut texts: Vec<String> = rows
        .into_iter()
        .map(|it| Value::Object(it).to_string())
        .collect();
    texts.sort();
    texts
}

#[test]
fn arrow_reads_what_was_sent() {
    let scratch = Scratch::new();
    let folder = scratch.file("lake");
    let destination = Destination::parse(&format!("parquet:{}", folder.display())).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let batches: Vec<_> = (0..40)
        .map(|n| batch(&mut rng, n, &Names::default()))
        .collect();
    let mut collector = Collector::open(&destination, &Access::default()).unwrap();
    // Twice, as after a crash: the same files.
    for _ in 0..2 {
        collector.send(&batches[..1]).unwrap();
        collector.send(&batches[1..]).unwrap();
    }
    let sent: String = batches.iter().map(to_lines).collect();
    assert_eq!(sorted(read_back(&folder)), sorted(lines(&sent)));
    for table in TABLES {
        let n_files = fs::read_dir(folder.join(table.name)).unwrap().count();
        assert!(n_files <= 2, "{n_files} of {}", table.name);
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_told_of() {
    let scratch = Scratch::new();
    fs::write(scratch.file("taken"), "").unwrap();
    let destination = format!("parquet:{}", scratch.file("taken").display());
    let destination = Destination::parse(&destination).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
    let batches = [batch(&mut rng, 1, &Names::default())];
    let mut collector = Collector::open(&destination, &Access::default()).unwrap();
    let said = collector.send(&batches).unwrap_err().to_string();
    assert!(said.contains("taken"), "{said}");
}
