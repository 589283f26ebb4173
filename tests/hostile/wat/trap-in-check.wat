(func $check (export "purlin:driver/lifecycle@0.3.0#check") (param i32) (result i32) (unreachable))
