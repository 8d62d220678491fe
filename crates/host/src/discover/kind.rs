//! How processes are recognized as servers.
//!
//! Called for each process in a look.

use looptax_model::dsn::Kind;

use crate::discover::process::Process;

/// The kind of server that a process is. It is known by the program, else by the title that the process has given
/// itself: `php-fpm: master process (/etc/php-fpm.conf)`.
pub(crate) fn of_process(process: &Process) -> Option<Kind> {
    let program = process.program_name();
    Kind::of_program(&program).or_else(|| {
        let title = program.starts_with("php").then(|| process.arguments())?;
        let name = title.first()?.split(':').next()?;
        Kind::of_program(name).filter(|it| *it == Kind::PhpFpm)
    })
}
