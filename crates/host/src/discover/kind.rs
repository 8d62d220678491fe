//! Recognises servers by their processes.
//!
//! Called for each process in a survey.

use looptax_model::dsn::Kind;

use crate::discover::process::Process;

/// Returns the kind of server that a process is. Recognises it by the program, or else by the title that the process
/// has set, such as `php-fpm: master process (/etc/php-fpm.conf)`.
pub(crate) fn of_process(process: &Process) -> Option<Kind> {
    let program = process.program_name();
    Kind::of_program(&program).or_else(|| {
        let title = program.starts_with("php").then(|| process.arguments())?;
        let name = title.first()?.split(':').next()?;
        Kind::of_program(name).filter(|it| *it == Kind::PhpFpm)
    })
}
