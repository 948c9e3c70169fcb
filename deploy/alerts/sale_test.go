package alerts

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret  = "a secret of the alerts, of 32 bytes or more"
	patient = time.Minute // for what takes seconds on a machine that is not busy
	poll    = 50 * time.Millisecond
)

// sale is both programs after a small sale that met every kind of answer.
type sale struct {
	t           testing.TB
	api, worker *process.Process
}

func newSale(t testing.TB) *sale {
	t.Helper()
	server := redistest.NewWith(t, redistest.Options{TCP: true})
	env := []string{"SECKILL_REDIS_ADDRS=" + server.Addr(), "SECKILL_MYSQL_DSN=" + sqltest.New(t), "SECKILL_JWT_SECRET=" + secret}
	s := &sale{t: t}
	s.api, s.worker = s.start("api", env), s.start("worker", env)

	voucher := s.create(3)
	for user := 1; user <= 5; user++ {
		s.buy(voucher, user)
	}
	c := server.ClientOf(t)
	require.Eventually(t, func() bool { return c.XLen(t.Context(), "seckill:stream").Val() == 0 }, patient, poll)
	// A stream that is lost makes the worker look through its books.
	require.NoError(t, c.Del(t.Context(), "seckill:stream").Err())
	// A sale that is closed makes the api fail.
	require.NoError(t, c.HSet(t.Context(), "seckill:voucher:"+voucher, "state", "loading").Err())
	require.Equal(t, http.StatusServiceUnavailable, s.buy(s.create(1), 6, func(v string) {
		require.NoError(t, c.HSet(t.Context(), "seckill:voucher:"+v, "state", "loading").Err())
	}))
	return s
}

func (s *sale) start(program string, env []string) *process.Process {
	s.t.Helper()
	p := process.New(s.t.Context(), bin, []string{program}, env)
	require.NoError(s.t, p.Start())
	s.t.Cleanup(p.Kill)
	ctx, cancel := context.WithTimeout(s.t.Context(), patient)
	defer cancel()
	require.NoError(s.t, p.Ready(ctx))
	return p
}

func (s *sale) create(units int) (voucher string) {
	s.t.Helper()
	now := time.Now()
	body := fmt.Sprintf(`{"title":"alerts","total":%d,"beginsAt":%q,"endsAt":%q}`, units,
		now.Add(-time.Minute).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
	status, text := s.post("/api/v1/admin/vouchers", 1, "admin", body)
	require.Equal(s.t, http.StatusCreated, status, text)
	return regexp.MustCompile(`"voucherId":"(\d+)"`).FindStringSubmatch(text)[1]
}

// buy asks for a unit, after some mischief, and returns the status of the answer.
func (s *sale) buy(voucher string, user int, mischief ...func(voucher string)) int {
	s.t.Helper()
	for _, do := range mischief {
		do(voucher)
	}
	status, _ := s.post("/api/v1/vouchers/"+voucher+"/orders", user, "", "")
	return status
}

func (s *sale) post(path string, user int, role, body string) (status int, text string) {
	s.t.Helper()
	token, err := app.Token([]byte(secret), seckill.UserID(user), role, time.Now(), time.Hour)
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.api.HTTP+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return do(s.t, r)
}

func do(t testing.TB, r *http.Request) (status int, text string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b)
}

// series is one line of what a program exposes.
type series struct {
	name   string
	labels map[string]string
}

// exposition is what a program exposes of ours.
type exposition struct {
	types  map[string]string // by family
	series []series
}

var (
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (seckill_\w+) (\w+)$`)
	sampleLine = regexp.MustCompile(`(?m)^(seckill_\w+)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

// scrape reads what a program exposes now.
func (s *sale) scrape(p *process.Process) (e exposition) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+p.Ops+"/metrics", nil)
	require.NoError(s.t, err)
	status, text := do(s.t, r)
	require.Equal(s.t, http.StatusOK, status)
	e.types = map[string]string{}
	for _, m := range typeLine.FindAllStringSubmatch(text, -1) {
		e.types[m[1]] = m[2]
	}
	for _, m := range sampleLine.FindAllStringSubmatch(text, -1) {
		labels := map[string]string{}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			value, err := strconv.Unquote(`"` + pair[2] + `"`)
			require.NoError(s.t, err)
			labels[pair[1]] = value
		}
		e.series = append(e.series, series{m[1], labels})
	}
	return e
}

// family is the metric that a series belongs to: of a histogram there are several.
func (e exposition) family(name string) string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, part); ok && e.types[base] == "histogram" {
			return base
		}
	}
	return name
}

var shared struct {
	once        sync.Once
	api, worker exposition
}

// exposed is what both programs expose after a sale; the tests share one.
func exposed(t *testing.T) (api, worker exposition) {
	t.Helper()
	shared.once.Do(func() {
		s := newSale(t)
		require.Eventually(t, func() bool {
			shared.api, shared.worker = s.scrape(s.api), s.scrape(s.worker)
			return shared.worker.has("seckill_books_drift") && shared.worker.has("seckill_sale_left")
		}, patient, poll)
	})
	require.NotEmpty(t, shared.worker.series, "the sale failed in another test")
	return shared.api, shared.worker
}

func (e exposition) has(family string) bool { return e.types[family] != "" }
