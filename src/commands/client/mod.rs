pub mod client_check;
pub mod install;
pub mod purge;
pub mod self_test;
pub mod settings;
pub mod slash;
pub mod uninstall;
pub mod warnings;
