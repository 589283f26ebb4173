package purlinhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"purlin.dev/purlin"
)

// client is what a driver uses.
func client() *http.Client { return &http.Client{Transport: Transport{}} }

func serve(t *testing.T, answer http.HandlerFunc) string {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

func lose(w http.ResponseWriter) {
	connection, _, _ := w.(http.Hijacker).Hijack()
	connection.Close()
}

func TestARequestIsSentAndAnswered(t *testing.T) {
	place := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", fmt.Sprintf("%s %s %s %d", r.Method, r.URL, r.Header.Get("X-Asked"), len(body)))
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(body)
	})
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	for _, body := range [][]byte{nil, {}, []byte("hällo"), large} {
		// Its length is not known.
		request, err := http.NewRequest("PUT", place+"/a%2Fb?c=d", io.MultiReader(bytes.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Asked", "so")
		answer, err := client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		seen := fmt.Sprintf("PUT /a%%2Fb?c=d so %d", len(body))
		if err != nil || answer.StatusCode != 418 || answer.Status != "418 I'm a teapot" || answer.Header.Get("x-seen") != seen ||
			len(answer.Header.Values("X-Two")) != 2 || !bytes.Equal(got, body) || answer.ContentLength != int64(len(body)) || answer.Request != request {
			t.Fatal(answer, err, len(got))
		}
	}
}

func TestTheClientFollowsRedirectsAndKeepsCookies(t *testing.T) {
	place := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/from":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/to", http.StatusSeeOther)
		case "/again":
			http.Redirect(w, r, "/to", http.StatusTemporaryRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method, " ", r.Header.Get("Cookie"), " ", string(body))
		}
	})
	with := client()
	with.Jar, _ = cookiejar.New(nil)
	for path, want := range map[string]string{"/from": "GET a=b ", "/again": "POST a=b body"} {
		if path == "/again" {
			_, _ = with.Get(place + "/from")
		}
		answer, err := with.Post(place+path, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(answer.Body); string(got) != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestAHeadHasALengthAndNoBody(t *testing.T) {
	place := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "10") })
	answer, err := client().Head(place)
	if err != nil || answer.ContentLength != 10 {
		t.Fatal(answer, err)
	}
	if got, err := io.ReadAll(answer.Body); len(got) > 0 || err != nil {
		t.Fatal(got, err)
	}
}

func TestALostAnswerIsUndecidedAlsoWhereItIsWrapped(t *testing.T) {
	place := serve(t, func(w http.ResponseWriter, _ *http.Request) { lose(w) })
	_, err := client().Post(place+"/a?token=hush", "text/plain", strings.NewReader("body"))
	var failed purlin.FetchError
	if !errors.As(err, &failed) || failed.Kind != purlin.FetchLost || failed.Method != "POST" || failed.URL != place+"/a" {
		t.Fatal(err)
	}
	if !errors.As(fmt.Errorf("cannot make it: %w", err), new(purlin.Undecided)) {
		t.Fatal(err)
	}
	if _, err := client().Get(place); !errors.As(err, new(purlin.RetryAfter)) {
		t.Fatal(err)
	}
}

// After a 303 the POST was carried out, whatever becomes of the GET that follows it.
func TestALostRedirectOfARequestWithEffectsIsUndecided(t *testing.T) {
	for status, undecided := range map[int]bool{303: true, 302: true, 307: false} {
		place := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/?token=hush", status)
		})
		_, err := client().Post(place, "text/plain", strings.NewReader("body"))
		var failed purlin.FetchError
		if !errors.As(err, &failed) || failed.Method != "POST" || errors.As(err, new(purlin.Undecided)) != undecided {
			t.Errorf("%d: %v", status, err)
		}
		if strings.Contains(failed.Error(), "hush") {
			t.Error("a secret is told", failed)
		}
	}
}

func TestATimeLimitIsKept(t *testing.T) {
	release := make(chan struct{})
	place := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "POST", place, strings.NewReader("body"))
	_, err := client().Do(request)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, new(purlin.Undecided)) {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	request, _ = http.NewRequestWithContext(ctx, "POST", place, strings.NewReader("body"))
	if _, err = client().Do(request); !errors.Is(err, context.Canceled) || !errors.As(err, new(purlin.Undecided)) {
		t.Error(err)
	}
	// Nothing is sent any more.
	_, err = client().Do(request)
	var failed purlin.FetchError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &failed) || failed.Kind != purlin.FetchUnusable {
		t.Error(err)
	}
}

// closing notes that it was closed, as every RoundTripper has to do.
type closing struct {
	io.Reader
	closed bool
}

func (body *closing) Close() error {
	body.closed = true
	return nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestWhatCannotBeSentIsAnError(t *testing.T) {
	place := serve(t, func(http.ResponseWriter, *http.Request) {})
	for want, spoil := range map[string]func(*http.Request){
		"there is no URL":                    func(r *http.Request) { r.URL = nil },
		"a Host that is not that of":         func(r *http.Request) { r.Host = "other.example" },
		"trailers cannot be sent":            func(r *http.Request) { r.Trailer = http.Header{"A": nil} },
		"its body cannot be read: broken":    func(r *http.Request) { r.Body = &closing{Reader: broken{}} },
		"this is not a URL of http or https": func(r *http.Request) { r.URL.Scheme = "ftp" },
	} {
		body := &closing{Reader: strings.NewReader("body")}
		request, _ := http.NewRequest("POST", place, body)
		spoil(request)
		given := request.Body.(*closing)
		_, err := Transport{}.RoundTrip(request)
		var failed purlin.FetchError
		if !errors.As(err, &failed) || failed.Kind != purlin.FetchUnusable || !strings.Contains(failed.Message, want) || !given.closed {
			t.Errorf("%s: %v, closed: %v", want, err, given.closed)
		}
	}
}
