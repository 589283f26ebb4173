(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32) (unreachable))
