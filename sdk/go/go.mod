module purlin.dev/purlin

go 1.24
