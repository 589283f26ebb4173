;; All texts of a request overlap, and the manifest lies among them.
(func $realloc (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
