//go:build promtool

package alerts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// TestPrometheus lets a real Prometheus scrape a real sale, evaluate every rule, and answer
// every query of the dashboard with numbers.
func TestPrometheus(t *testing.T) {
	s := newSale(t)
	addr := startPrometheus(t, s.api.Ops, s.worker.Ops)
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			path := "/api/v1/query?query=" + url.QueryEscape(query(target.Expr))
			var answer struct {
				Data struct{ Result []any }
			}
			require.Eventually(t, func() bool {
				return ask(t, addr+path, &answer) && len(answer.Data.Result) > 0
			}, patient, poll, "%s: %s", p.Title, target.Expr)
		}
	}
	require.Eventually(t, func() bool { return evaluated(t, addr) == len(rules(t)) }, patient, poll)
}

// evaluated counts the rules that were evaluated, and holds each to having worked.
func evaluated(t *testing.T, addr string) (n int) {
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	if !ask(t, addr+"/api/v1/rules", &answer) {
		return 0
	}
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			require.Empty(t, r.LastError, r.Name)
			if r.Health == "ok" {
				n++
			}
		}
	}
	return n
}

// ask gets an answer in JSON; false: it was no 200.
func ask(t *testing.T, address string, answer any) bool {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address, nil)
	require.NoError(t, err)
	status, text := do(t, r)
	require.NotEqual(t, http.StatusBadRequest, status, text)
	return status == http.StatusOK && json.Unmarshal([]byte(text), answer) == nil
}

// startPrometheus scrapes the addresses each second, and returns its own once it is ready.
func startPrometheus(t *testing.T, api, worker string) (addr string) {
	t.Helper()
	dir := t.TempDir()
	text, err := filepath.Abs("seckill.yml")
	require.NoError(t, err)
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n"+
		"  - {job_name: api, static_configs: [{targets: [%q]}]}\n  - {job_name: worker, static_configs: [{targets: [%q]}]}\n", text, api, worker)
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	addr = faultnet.FreeAddr()
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file="+file,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // it is killed by then: its context ends before
	require.Eventually(t, func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/-/ready", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, patient, poll)
	return addr
}

// query is an expression as Grafana sends it.
func query(expr string) string {
	return strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(expr)
}
