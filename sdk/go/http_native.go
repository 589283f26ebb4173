//go:build !wasip1

package purlin

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
)

// fetch goes to the network itself, in native tests.
func fetch(request Request, to *url.URL) (Response, error) {
	made, err := http.NewRequest(request.Method, to.String(), bytes.NewReader(request.Body))
	if err != nil {
		return Response{}, err
	}
	made.Header = http.Header(request.Header)
	client := http.Client{
		Timeout:       request.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(made)
	if err != nil {
		return Response{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return Response{answer.StatusCode, Header(answer.Header), body}, err
}
