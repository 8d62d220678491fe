//! How processes are known as servers.
//!
//! Called for each process that is looked at.

use looptax_model::dsn::Kind;

use crate::discover::process::Process;

/// The kind of server that a process is, by its program, else by the title that it has given itself:
/// `php-fpm: master process (/etc/php-fpm.conf)`.
pub(crate) fn of_process(process: &Process) -> Option<Kind> {
    let program = process.program_name();
    Kind::of_program(&program).or_else(|| {
        let title = program.starts_with("php").then(|| process.arguments())?;
        let name = title.first()?.split(':').next()?;
        Kind::of_program(name).filter(|it| *it == Kind::PhpFpm)
    })
}
