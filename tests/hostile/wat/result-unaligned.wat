;; An answer at an unaligned address.
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32) (i32.const 2049))
