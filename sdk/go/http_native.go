//go:build !wasip1

package purlin

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
)

// fetch uses the network directly, in native tests.
func fetch(request Request, to *url.URL) (Response, error) {
	var attempted, connected bool
	trace := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GetConn: func(string) { attempted = true },
		GotConn: func(httptrace.GotConnInfo) { connected = true },
	})
	made, err := http.NewRequestWithContext(trace, request.Method, to.String(), bytes.NewReader(request.Body))
	if err != nil {
		return Response{}, request.fail(FetchUnusable, err.Error())
	}
	if request.Header != nil {
		made.Header = http.Header(request.Header)
	}
	client := http.Client{
		Timeout:       request.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(made)
	switch {
	case err == nil:
	case connected:
		return Response{}, request.fail(FetchLost, reason(err))
	case !attempted:
		return Response{}, request.fail(FetchUnusable, reason(err))
	case isUntrusted(err):
		return Response{}, request.fail(FetchUntrusted, reason(err))
	default:
		return Response{}, request.fail(FetchUnreachable, reason(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return Response{}, request.fail(FetchLost, "the answer broke off: "+err.Error())
	}
	return Response{answer.StatusCode, Header(answer.Header), body}, nil
}

// reason omits the URL, which net/http quotes with its query.
func reason(err error) string {
	if around := (*url.Error)(nil); errors.As(err, &around) {
		err = around.Err
	}
	return err.Error()
}

// isUntrusted reports whether the server's name or its certificate is wrong. Otherwise it is
// unreachable.
func isUntrusted(err error) bool {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		alert       tls.AlertError
	)
	return errors.As(err, &name) && name.IsNotFound || errors.As(err, &certificate) ||
		errors.As(err, &record) || errors.As(err, &alert)
}
