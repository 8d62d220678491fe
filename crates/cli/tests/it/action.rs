//! `action.yml`: its steps run in a shell, as a CI runner would run them, in a repository with two commits.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use looptax_testkit::scratch::Scratch;

use crate::fixture::{exe, is_there_for};
use crate::show::{ABOUT_26, with_taxes};

const ACTION: &str = include_str!("../../../../action.yml");

/// A step of the action with a shell command.
#[derive(Debug, Default)]
struct Step {
    id: String,
    condition: String,
    env: Vec<(String, String)>,
    run: String,
}

/// Returns the default of each input, and the steps that have a `run`. The parser depends on the indentation of the
/// file.
fn action() -> (BTreeMap<String, String>, Vec<Step>) {
    let (inputs, rest) = ACTION.split_once("\ninputs:\n").unwrap().1.split_once("\noutputs:\n").unwrap();
    let mut defaults = BTreeMap::new();
    let mut name = "";
    for line in inputs.lines() {
        match line.strip_prefix("  ").filter(|it| !it.starts_with(' ')) {
            Some(own) => name = own.trim_end_matches(':'),
            None => {
                if let Some(value) = line.trim().strip_prefix("default: ") {
                    defaults.insert(name.to_owned(), value.trim_matches('\'').to_owned());
                }
            }
        }
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut is_run = false;
    for line in rest.split_once("  steps:\n").unwrap().1.lines() {
        let (key, value) = line.trim_start_matches([' ', '-']).split_once(": ").unwrap_or((line.trim(), ""));
        if line.starts_with("    - ") {
            steps.push(Step::default());
            is_run = false;
        }
        let step = steps.last_mut().unwrap();
        match (is_run, key) {
            (true, _) => step.run.extend([line.strip_prefix("        ").unwrap_or_default(), "\n"]),
            (false, "run") => is_run = true,
            (false, "id") => value.clone_into(&mut step.id),
            (false, "if") => value.clone_into(&mut step.condition),
            (false, _) if line.starts_with("        ") => step.env.push((key.to_owned(), value.to_owned())),
            (false, _) => {}
        }
    }
    steps.retain(|it| !it.run.is_empty());
    (defaults, steps)
}

struct Runner {
    scratch: Scratch,
    repository: PathBuf,
}

/// The end of a run: the outputs that the steps wrote, and the first exit code that is not 0.
struct Ended {
    outputs: BTreeMap<String, String>,
    code: i32,
    said: String,
}

impl Runner {
    fn new() -> Option<Self> {
        if !is_there_for("the steps of action.yml", "git") {
            return None;
        }
        let scratch = Scratch::new();
        let repository = scratch.file("repository");
        fs::create_dir(&repository).unwrap();
        let runner = Self { scratch, repository };
        runner.git(&["init", "--quiet"]);
        Some(runner)
    }

    fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.net"]).args(args);
        let out = command.current_dir(&self.repository).output().unwrap();
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, files: &[(&str, &str)]) -> String {
        for (name, text) in files {
            let path = self.repository.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--message", "a"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs the steps with these inputs.
    fn run(&self, given: &[(&str, &str)]) -> Ended {
        let (mut inputs, steps) = action();
        inputs.insert("looptax".to_owned(), exe().display().to_string());
        for (name, value) in given {
            assert!(inputs.insert((*name).to_owned(), (*value).to_owned()).is_some(), "there is no input {name}");
        }
        let output = self.scratch.file("output");
        let mut ended = Ended { outputs: BTreeMap::new(), code: 0, said: String::new() };
        for step in steps {
            let value = |expression: &str| {
                let names = expression.trim_start_matches("${{").trim_end_matches("}}").split("||").map(str::trim);
                let known = names.map(|name| match name.strip_prefix("inputs.") {
                    Some(input) => inputs[input].clone(),
                    None => ended.outputs.get(name).cloned().unwrap_or_default(),
                });
                known.into_iter().find(|it| !it.is_empty()).unwrap_or_default()
            };
            let is_left_out = step.condition.strip_suffix(" != ''").is_some_and(|it| value(it).is_empty());
            if is_left_out || ended.code != 0 {
                continue;
            }
            fs::write(&output, "").unwrap();
            let script = self.scratch.file("step.sh");
            fs::write(&script, &step.run).unwrap();
            let mut command = Command::new("bash");
            command.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(&script).current_dir(&self.repository);
            command.envs(step.env.iter().map(|(name, it)| (name, value(it))));
            command.env("GITHUB_OUTPUT", &output).env("RUNNER_TEMP", self.scratch.tmp());
            let out = command.env("XDG_DATA_HOME", self.scratch.file("data")).output().unwrap();
            ended.said += &String::from_utf8_lossy(&out.stdout);
            ended.said += &String::from_utf8_lossy(&out.stderr);
            ended.code = out.status.code().unwrap();
            for (name, value) in fs::read_to_string(&output).unwrap().lines().filter_map(|it| it.split_once('=')) {
                ended.outputs.insert(format!("steps.{}.outputs.{name}", step.id), value.to_owned());
            }
        }
        ended
    }

    fn log(&self) -> String {
        fs::read_to_string(self.repository.join("looptax.sarif")).unwrap()
    }
}

const SITE: &str = "<?php\ndefine( 'DB_HOST', '127.0.0.1' );\ndefine( 'DB_NAME', 'wp' );\n";

#[test]
fn changed_files_are_checked_and_no_value_is_read_by_a_shell() {
    for step in action().1 {
        assert!(!step.run.contains("${{"), "a value in the text of a script: {}", step.run);
        let is_expression = |it: &&(String, String)| it.1.starts_with("${{") && it.1.ends_with("}}");
        assert!(step.env.iter().all(|it| is_expression(&it)), "{:?}", step.env);
    }
    let Some(runner) = Runner::new() else { return };
    let base = runner.commit(&[("old/wp-config.php", SITE), ("README.md", "a")]);
    let odd = "$(touch pwned);`touch pwned`/-x \"wp\"/wp-config.php";
    runner.commit(&[("README.md", "b"), ("new/wp-config.php", SITE), (odd, SITE)]);
    let ended = runner.run(&[("base", &base), ("socket", "/run/\"; touch pwned; $(touch pwned)")]);
    assert_eq!(ended.code, 0, "{}", ended.said);
    assert_eq!(ended.outputs["steps.check.outputs.results"], "2", "{}", ended.said);
    let log = runner.log();
    assert!(log.contains("\"new/wp-config.php\"") && !log.contains("\"old/wp-config.php\""), "{log}");
    let is_pwned = |folder: &Path| folder.join("pwned").exists();
    assert!(!is_pwned(&runner.repository) && !is_pwned(&runner.scratch.tmp()));

    // First a base that is equal to the head, then a base that is not in the repository, then `paths` instead of a
    // base.
    let head = runner.git(&["rev-parse", "HEAD"]);
    fs::remove_file(runner.repository.join("looptax.sarif")).unwrap();
    let ended = runner.run(&[("base", &head)]);
    assert_eq!((ended.code, &*ended.outputs["steps.check.outputs.results"]), (0, "0"), "{}", ended.said);
    let ended = runner.run(&[("base", &"1".repeat(40))]);
    assert_eq!((ended.code, &*ended.outputs["steps.check.outputs.results"]), (0, "3"), "{}", ended.said);
    let ended = runner.run(&[("paths", "old\nnew/wp-config.php\n")]);
    assert_eq!((ended.code, &*ended.outputs["steps.check.outputs.results"]), (0, "2"), "{}", ended.said);
}

#[test]
fn what_fails_as_it_stands_fails_the_job_once_the_log_is_there() {
    let Some(runner) = Runner::new() else { return };
    runner.commit(&[("wp-config.php", &SITE.replace("127.0.0.1", "/run/mysqld/mysqld.sock"))]);
    let ended = runner.run(&[]);
    assert_eq!(ended.code, 1, "{}", ended.said);
    assert!(ended.said.contains("::error::a connection fails"), "{}", ended.said);
    assert!(runner.log().contains("\"reaches-nothing\""));
    let ended = runner.run(&[("paths", "nothing.here")]);
    assert_eq!(ended.code, 2, "{}", ended.said);
}

#[test]
fn a_record_is_held_against_its_limit() {
    let Some(runner) = Runner::new() else { return };
    runner.commit(&[("README.md", "a")]);
    with_taxes(&runner.scratch, "record.json", &ABOUT_26, |_| ());
    let record = runner.scratch.file("record.json");
    let record = record.to_str().unwrap();
    for (limit, code) in [("27.1%", 0), ("24%", 1), ("26%", 3)] {
        let ended = runner.run(&[("record", record), ("max-tax", limit)]);
        assert_eq!(ended.code, code, "{}", ended.said);
        assert_eq!(ended.outputs["steps.gate.outputs.gate"], code.to_string());
    }
    let ended = runner.run(&[("record", record), ("max-tax", "20%; touch pwned")]);
    assert_eq!(ended.code, 2, "{}", ended.said);
}
