//! OCI bundles, images, ECS tasks, and CI jobs: files that describe a whole other machine or container.
//!
//! # Source
//! opencontainers/runtime-spec, `config.md` and `config-linux.md`: `mounts`, `linux.namespaces`.

use super::super::setting::{Setting, Value};
use super::super::yaml;
use super::container::{Container, Content, File, FileText, Network};

/// Files of CI services, which run a repository's jobs on their own machines.
const JOBS: [&str; 9] = [
    ".gitlab-ci.yml",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".cirrus.yml",
    "bitbucket-pipelines.yml",
    "azure-pipelines.yml",
    "appveyor.yml",
    "buildspec.yml",
];
const JOB_FOLDERS: [&str; 3] = ["/.github/workflows/", "/.circleci/", "/.woodpecker/"];

pub(super) fn read(file: &FileText<'_>) -> Option<File> {
    let path = format!("/{}", file.path);
    let is_image = |it: &str| it == "Dockerfile" || it == "Containerfile";
    let stem = file.name.split('.').next().unwrap_or_default();
    let (whole, volume) = if file.ends_with("json") && file.text.contains("\"ociVersion\"") {
        (
            bundle(file.text),
            "{\"destination\": \"FOLDER\", \"source\": \"FOLDER\", \"options\": [\"rbind\"]} in `mounts`",
        )
    } else if file.ends_with("json") && file.text.contains("\"containerDefinitions\"") {
        let mut task = Container::new("", "the containers of this task");
        if file.text.contains("\"networkMode\": \"host\"") {
            task.network = Network::Unknown("the containers use the network of the machine that runs them".to_owned());
        }
        task.may_have_more_mounts = true;
        (task, "a volume of FOLDER")
    } else if is_image(stem) || file.ends_with("dockerfile") {
        let mut image = Container::new("", "the containers of this image");
        image.network = Network::Unknown("the program that starts the containers chooses their network".to_owned());
        image.may_have_more_mounts = true;
        (image, "--volume FOLDER:FOLDER")
    } else if JOBS.contains(&file.name) || JOB_FOLDERS.iter().any(|it| path.contains(it)) {
        let mut job = Container::new("", "this job");
        job.network = Network::Other("the machine on which the job and the job's service containers run".to_owned());
        job.may_have_more_mounts = true;
        (job, "a volume of FOLDER")
    } else {
        return None;
    };
    Some(File { containers: Vec::new(), rest: Some(whole), volume })
}

fn bundle(text: &str) -> Container {
    // A JSON file is also a YAML file if it contains no tabs before its keys.
    let (settings, problems) = yaml::read(&text.replace('\t', " "));
    let mut bundle = Container::new("", "the container of this bundle");
    let value = |setting: &Setting| match &setting.value {
        Value::Text(text) => text.clone(),
        Value::Variable { .. } | Value::Hidden => String::new(),
    };
    let beside = |setting: &Setting, key: &str| {
        let (_, item) = setting.path.split_last()?;
        let is_it = |it: &&Setting| it.path.split_last().is_some_and(|(last, other)| last == key && other == item);
        settings.iter().find(is_it).map(value)
    };
    bundle.network = Network::Machine;
    for setting in &settings {
        let path: Vec<&str> = setting.path.iter().map(|it| &**it).collect();
        match path[..] {
            ["linux", "namespaces", _, "type"] if value(setting) == "network" => {
                bundle.network = match beside(setting, "path") {
                    Some(path) => Network::Other(format!("the network namespace {path}")),
                    None => Network::Own,
                };
            }
            ["mounts", _, "destination"] => {
                let kind = beside(setting, "type").unwrap_or_default();
                let source = beside(setting, "source").unwrap_or_default();
                let is_path = source.starts_with('/') && matches!(&*kind, "bind" | "none" | "");
                let content = if is_path { Content::Machine(source) } else { Content::Own };
                bundle.mounts.push((value(setting), content));
            }
            _ => {}
        }
    }
    if !problems.is_empty() {
        bundle.network = Network::Unknown("looptax cannot read `linux.namespaces`".to_owned());
        bundle.may_have_more_mounts = true;
    }
    bundle
}
