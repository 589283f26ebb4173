(func $update-impact (export "purlin:driver/lifecycle@0.3.0#update-impact") (param i32) (result i32) (unreachable))
