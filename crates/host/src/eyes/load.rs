//! What both objects for the kernel have in common when they are loaded. Called by `eyes` and `eyes::bytes`.

use std::io::Read as _;

use aya::Ebpf;
use aya::programs::Iter;

use super::refused::{self, Refused};

/// A program of an object, as its type.
///
/// # Errors
/// [`Refused::Object`] if the object has no such program.
pub(super) fn program<'a, P>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut P, Refused>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program>,
{
    let program = programs.program_mut(name).ok_or(Refused::Object)?;
    program.try_into().map_err(|_| Refused::Object)
}

/// Lets the kernel go through the files of all processes.
pub(super) fn list_what_is_there(programs: &mut Ebpf) -> Result<(), Refused> {
    let before: &mut Iter = program(programs, "before")?;
    let link = before.attach().and_then(|it| before.take_link(it)).map_err(|error| refused::of_program(&error))?;
    let mut file = link.into_file().map_err(|error| Refused::Kernel(error.to_string()))?;
    let mut nothing = Vec::new();
    file.read_to_end(&mut nothing).map_err(|error| Refused::Kernel(error.to_string()))?;
    Ok(())
}
