package main

// Inputs are the inputs of a project. The schema comes from the tags: Purlin validates inputs, fills in
// defaults, keeps secrets, and decides which changes replace. So there is no Check, and no UpdateImpact.
type Inputs struct {
	Values     Values
	Connection Connection
}

// Values are what the project should be.
type Values struct {
	Name   string `purlin:",replaces" pattern:"^[a-z0-9][a-z0-9-]{0,62}$" desc:"The project's name. A change replaces the project."`
	Region string `purlin:",immutable" enum:"eu,us" default:"eu" desc:"The region of the project. It cannot be changed."`
	Size   int    `min:"1" max:"1000" default:"1" desc:"The number of seats."`
}

// Connection is the current connection to the API, also in Read and Delete. A plan names all grants that are
// missing for it.
type Connection struct {
	Server string `purlin:",replaces" reaches:"http" methods:"POST,GET later,PATCH later,DELETE later" pattern:"^https?://[^/?#]+(/[^?#]*)?$" desc:"The URL of the API, such as https://api.example/v1."`
	Token  string `purlin:",secret" min:"1" desc:"The token of the API."`
}

// Outputs are the outputs of a project.
type Outputs struct {
	ID     string `desc:"The project's id in the API."`
	Name   string `desc:"The project's name."`
	Region string `desc:"The region of the project."`
	Size   int    `desc:"The number of seats."`
	Token  string `purlin:",optional,secret,write-once" desc:"The project's own token, which the API shows only once."`
}
