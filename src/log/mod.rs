//! An error text or a compile log in; what it says, as an incident, out.
