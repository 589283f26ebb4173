;; All strings of a request overlap, and overwrite the driver info.
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
