//! The machine's files and programs: opened, written and started without trusting a name.
//!
//! looptax often runs as root and looks at folders, files and processes of other users. A name that another user
//! controls can lead elsewhere between two looks, so every other room opens files and starts programs through this
//! one: folders are opened component by component and held, files are used by the descriptor that was judged, and no
//! program that another user could have written is executed with rights that this user lacks.
