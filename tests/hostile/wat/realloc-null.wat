;; Returns address 0 for everything that the host writes.
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0))
