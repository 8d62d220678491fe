//! Loads and attaches the programs of both object files: the one that counts requests, and the one that reads bytes.
//! Called by `eyes` and `eyes::bytes`.

use std::io::Read as _;

use aya::programs::{BtfTracePoint, Iter};
use aya::{Btf, Ebpf, EbpfLoader};

use super::refused::{self, Refused};
use crate::kernel;

/// Loads an object into the kernel: the program that lists existing sockets, and the programs for tracepoints.
///
/// # Errors
/// The reason why the programs cannot be loaded: rights, the kernel's age, or the kernel's lockdown.
pub(super) fn admitted<'a>(
    object: &[u8],
    tracepoints: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Ebpf, Refused> {
    if !refused::has_rights() {
        return Err(Refused::Rights);
    }
    if kernel::is_contained() {
        return Err(Refused::OwnProcesses);
    }
    let btf = Btf::from_sys_fs().map_err(|_| Refused::NoTypes)?;
    let mut loader = EbpfLoader::new();
    let loaded = loader.btf(Some(&btf)).allow_unsupported_maps().load(object);
    let mut programs = loaded.map_err(|error| refused::of_object(&error))?;
    let before: &mut Iter = program(&mut programs, "before")?;
    before.load("task_file", &btf).map_err(|error| refused::of_program(&error))?;
    for (name, tracepoint) in tracepoints {
        let program: &mut BtfTracePoint = program(&mut programs, name)?;
        program.load(tracepoint, &btf).map_err(|error| refused::of_program(&error))?;
    }
    Ok(programs)
}

/// Attaches the programs to their tracepoints. Existing connections are listed before and after the programs are
/// attached. Therefore no old connection counts as a new one. A connection whose ends looptax would have to guess is
/// not counted.
pub(super) fn attach<'a>(programs: &mut Ebpf, names: impl IntoIterator<Item = &'a str>) -> Result<(), Refused> {
    list_what_is_there(programs)?;
    for name in names {
        let program: &mut BtfTracePoint = program(programs, name)?;
        program.attach().map_err(|error| refused::of_program(&error))?;
    }
    list_what_is_there(programs)
}

/// Returns a program of an object, by its name and with its type.
///
/// # Errors
/// [`Refused::Object`] if the object has no such program.
fn program<'a, P>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut P, Refused>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program>,
{
    let program = programs.program_mut(name).ok_or(Refused::Object)?;
    program.try_into().map_err(|_| Refused::Object)
}

/// Makes the kernel iterate over the open files of all processes.
fn list_what_is_there(programs: &mut Ebpf) -> Result<(), Refused> {
    let before: &mut Iter = program(programs, "before")?;
    let link = before.attach().and_then(|it| before.take_link(it)).map_err(|error| refused::of_program(&error))?;
    let mut file = link.into_file().map_err(|error| Refused::Kernel(error.to_string()))?;
    let mut nothing = Vec::new();
    file.read_to_end(&mut nothing).map_err(|error| Refused::Kernel(error.to_string()))?;
    Ok(())
}
