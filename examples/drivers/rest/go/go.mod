module acme/project

go 1.24
