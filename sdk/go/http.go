package purlin

import (
	"net/textproto"
	"net/url"
	"time"
)

// Request is an HTTP request. Go's net/http has no network on wasip1; Fetch works within `http` grants.
type Request struct {
	// Method is GET if it is empty.
	Method string
	// URL begins with http:// or https://.
	URL string
	// Header has its fields; the host sets those of the connection.
	Header Header
	Body   []byte
	// Timeout is how long the server may take to connect and to begin its answer; the host's own
	// limit if it is 0.
	Timeout time.Duration
}

// Response is a server's answer, whatever its status.
type Response struct {
	Status int
	Header Header
	Body   []byte
}

// Header has fields by their names, written as in Content-Type.
type Header map[string][]string

// Get returns a field's first value, with its name in any case; empty if there is none.
func (header Header) Get(name string) string { return textproto.MIMEHeader(header).Get(name) }

// Set gives a field one value.
func (header Header) Set(name, value string) { textproto.MIMEHeader(header).Set(name, value) }

// Fetch sends a request and reads the whole answer. It follows no redirects. Each error is a
// FetchError.
func Fetch(request Request) (Response, error) {
	if request.Method == "" {
		request.Method = "GET"
	}
	to, err := url.Parse(request.URL)
	if err != nil || (to.Scheme != "http" && to.Scheme != "https") || to.Host == "" {
		return Response{}, request.fail(FetchUnusable, "this is not a URL of http or https")
	}
	return fetch(request, to)
}
