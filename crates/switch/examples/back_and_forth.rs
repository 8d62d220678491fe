//! Switches two files and undoes the switch, in an endless loop; a test kills this program.
//!
//! Usage: `back_and_forth DATA FILE FILE [NEW]`. The new text of each FILE is its old text with `new` in place of
//! `old`. If NEW is given, it is created with the new text of the first FILE.
#![allow(clippy::disallowed_methods, reason = "tests create files and start programs")]

use std::path::Path;

use looptax_switch::{Edited, End, Kept, Named, Original, Work};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let kept = Kept::in_data_folder(Path::new(&args[0]));
    let edit = |path: &String| -> Result<Edited, Box<dyn std::error::Error>> {
        let original = Original::read(Path::new(path))?;
        let new = String::from_utf8(original.bytes().to_vec())?.replace("old", "new");
        Ok(Edited { original, new: new.into_bytes() })
    };
    loop {
        let mut edited = vec![edit(&args[1])?];
        if let Some(path) = args.get(3) {
            edited.push(Edited {
                original: Original::absent(Path::new(path), &edited[0].original)?,
                new: edited[0].new.clone(),
            });
        }
        edited.push(edit(&args[2])?);
        let named = Named { day: "20261123", at: "2026-11-23T12:00:00Z", title: "two files" };
        let mut work = Work::plan(&kept, named, &edited)?;
        work.write(&edited)?;
        work.put_back("the way back", End::Undone)?;
    }
}
