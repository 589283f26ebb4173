//go:build !wasip1

package purlin

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestFetchTellsWhyThereIsNoAnswer(t *testing.T) {
	quiet := httptest.NewUnstartedServer(nil)
	gone := "http://" + quiet.Listener.Addr().String()
	quiet.Listener.Close()
	hangsUp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, _ := w.(http.Hijacker).Hijack()
		connection.Close()
	}))
	defer hangsUp.Close()
	breaksOff := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "half")
	}))
	defer breaksOff.Close()
	stranger := httptest.NewTLSServer(nil)
	defer stranger.Close()
	for _, one := range []struct {
		request Request
		kind    FetchErrorKind
	}{
		{Request{URL: "/a"}, FetchUnusable},
		{Request{URL: hangsUp.URL, Header: Header{"a b": {"c"}}}, FetchUnusable},
		{Request{URL: hangsUp.URL, Method: "NO METHOD"}, FetchUnusable},
		{Request{URL: gone}, FetchUnreachable},
		{Request{URL: stranger.URL}, FetchUntrusted},
		{Request{URL: hangsUp.URL, Method: "POST"}, FetchLost},
		{Request{URL: breaksOff.URL, Method: "POST"}, FetchLost},
	} {
		_, err := Fetch(one.request)
		if failure, ok := as[FetchError](err).(FetchError); !ok || failure.Kind != one.kind {
			t.Errorf("%v: %v", one.request, err)
		}
	}
	if !isUntrusted(&net.DNSError{IsNotFound: true}) || isUntrusted(&net.DNSError{IsTimeout: true}) {
		t.Error("an unknown name is not trusted, a slow name server is waited for")
	}
}
