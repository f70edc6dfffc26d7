//! The rules that the structure of the code keeps: one module a rule.

mod floors;
mod modules;
mod names;
mod rooms;
mod sizes;
