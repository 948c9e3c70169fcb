package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/sqltest"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

const secret = "0123456789abcdef0123456789abcdef"

// execute runs a command line and returns what it printed.
func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := root()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestExitCodeOfWrongUsage(t *testing.T) {
	t.Setenv("SECKILL_JWT_SECRET", secret)
	for name, args := range map[string][]string{
		"a command that is not known": {"sell"},
		"an argument too many":        {"serve", "now"},
		"a flag that is not known":    {"token", "--name", "x"},
		"no user":                     {"token"},
		"a user that is no id":        {"token", "--user", "+7"},
		"a role that is not known":    {"token", "--user", "42", "--role", "root"},
		"a time without a unit":       {"token", "--user", "42", "--ttl", "5000"},
		"a token for no time":         {"token", "--user", "42", "--ttl", "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := execute(t, args...)
			require.Error(t, err)
			require.Equal(t, 2, command.ExitCode(err), err)
		})
	}
}

func TestExitCodeOfWrongSettings(t *testing.T) {
	t.Setenv("SECKILL_JWT_SECRET", "too short")
	t.Setenv("SECKILL_MYSQL_DSN", "")
	t.Setenv("SECKILL_HTTP_ADDR", "nowhere")
	for _, args := range [][]string{{}, {"serve"}, {"migrate"}, {"token", "--user", "42"}} {
		_, err := execute(t, args...)
		require.Equal(t, 2, command.ExitCode(err), err)
		require.NotContains(t, err.Error(), "too short")
	}
	_, err := execute(t)
	for _, variable := range []string{"SECKILL_JWT_SECRET", "SECKILL_MYSQL_DSN", "SECKILL_HTTP_ADDR"} {
		require.ErrorContains(t, err, variable)
	}
}

func TestTokenPrintsOne(t *testing.T) {
	t.Setenv("SECKILL_JWT_SECRET", secret)
	out, err := execute(t, "token", "--user", "9223372036854775807", "--role", "admin", "--ttl", "5m")
	require.NoError(t, err)
	require.Len(t, strings.Split(strings.TrimSpace(out), "."), 3)
}

func TestTokenAsJSON(t *testing.T) {
	t.Setenv("SECKILL_JWT_SECRET", secret)
	out, err := execute(t, "token", "--user", "42", "--role", "service", "--ttl", "5m", "-o", "json")
	require.NoError(t, err)
	var got struct {
		Token, UserID, Role string
		ExpiresAt           time.Time
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, strings.Split(got.Token, "."), 3)
	require.Equal(t, "42", got.UserID)
	require.Equal(t, "service", got.Role)
	require.WithinDuration(t, time.Now().Add(5*time.Minute), got.ExpiresAt, time.Minute)
}

// What the program prints is what is committed: deploy/openapi.yaml is made by this command.
func TestOpenAPIPrintsTheCommittedFile(t *testing.T) {
	out, err := execute(t, "openapi")
	require.NoError(t, err)
	committed, err := os.ReadFile("../deploy/openapi.yaml")
	require.NoError(t, err)
	require.Equal(t, string(committed), out, "run: go run -tags nomsgpack ./api openapi > deploy/openapi.yaml")
}

func TestHelpHasExamples(t *testing.T) {
	for _, args := range [][]string{{}, {"serve"}, {"migrate"}, {"token"}, {"openapi"}} {
		out, err := execute(t, append(args, "--help")...)
		require.NoError(t, err)
		require.Contains(t, out, "Examples:\n", args)
	}
}

func TestMigrateRunsTwice(t *testing.T) {
	t.Setenv("SECKILL_MYSQL_DSN", sqltest.New(t))
	for range 2 {
		_, err := execute(t, "migrate")
		require.NoError(t, err)
	}
}

func TestMigrateWithoutADatabaseFails(t *testing.T) {
	t.Setenv("SECKILL_MYSQL_DSN", "root@unix(/nowhere/m.sock)/app")
	_, err := execute(t, "migrate")
	require.Equal(t, 1, command.ExitCode(err), err)
}

// listening is a log that tells the addresses once there is something to ask.
type listening struct{ addrs chan [2]string }

func (l listening) Write(line []byte) (int, error) {
	var entry struct{ Msg, HTTP, Ops string }
	if json.Unmarshal(line, &entry) == nil && entry.Msg == "serving" {
		l.addrs <- [2]string{entry.HTTP, entry.Ops}
	}
	return len(line), nil
}

func TestServeUntilIntakeEnds(t *testing.T) {
	cfg, err := config.LoadAPI(map[string]string{
		"SECKILL_MYSQL_DSN":   sqltest.New(t),
		"SECKILL_REDIS_ADDRS": redistest.New(t).Addr(),
		"SECKILL_JWT_SECRET":  secret,
		"SECKILL_HTTP_ADDR":   "127.0.0.1:0",
		"SECKILL_OPS_ADDR":    "127.0.0.1:0",
	})
	require.NoError(t, err)
	log := listening{make(chan [2]string, 1)}
	intake, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(intake, t.Context(), cfg, nil, slog.New(slog.NewJSONHandler(log, nil))) }()

	var addrs [2]string
	select {
	case addrs = <-log.addrs:
	case err := <-ended:
		t.Fatal("ended before it served:", err)
	}
	get := func(url string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(body)
	}
	status, body := get("http://" + addrs[0] + "/api/v1/vouchers")
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"items":[]}`, body)
	status, _ = get("http://" + addrs[1] + "/readyz")
	require.Equal(t, http.StatusOK, status)
	status, _ = get("http://" + addrs[0] + "/metrics")
	require.Equal(t, http.StatusNotFound, status, "operations stay on their own address")

	stop()
	require.NoError(t, <-ended)
}

func TestServeTellsThatAnAddressIsTaken(t *testing.T) {
	cfg, err := config.LoadAPI(map[string]string{
		"SECKILL_MYSQL_DSN":   sqltest.New(t),
		"SECKILL_REDIS_ADDRS": redistest.New(t).Addr(),
		"SECKILL_JWT_SECRET":  secret,
		"SECKILL_HTTP_ADDR":   "127.0.0.1:0",
		"SECKILL_OPS_ADDR":    "192.0.2.1:1", // an address no machine has
	})
	require.NoError(t, err)
	err = serve(t.Context(), t.Context(), cfg, nil, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "192.0.2.1:1")
	require.Equal(t, 1, command.ExitCode(err))
}
