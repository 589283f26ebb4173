//! The built-in driver purlin/echo.
