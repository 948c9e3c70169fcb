package check

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const composeFile = "../compose/compose.yaml"

// required are the secrets that compose does not start without.
func required(t *testing.T) []string {
	t.Helper()
	example, err := os.ReadFile("../compose/.env.example")
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(string(example)) {
		if name, open := strings.CutSuffix(strings.TrimSpace(line), "="); open && !strings.HasPrefix(name, "#") {
			names = append(names, name)
		}
	}
	return names
}

// load reads compose.yaml as compose does, with every secret but those left out.
func load(t *testing.T, file string, without ...string) (*types.Project, error) {
	t.Helper()
	var environ []string
	for _, name := range required(t) {
		if !slices.Contains(without, name) {
			environ = append(environ, name+"="+aSecret)
		}
	}
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(environ), cli.WithWorkingDirectory("../compose"))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

func TestCompose(t *testing.T) {
	p, err := load(t, composeFile)
	require.NoError(t, err)
	require.Empty(t, wrongProject(p))
	require.EqualValues(t, 2, *p.Services["api"].Deploy.Replicas)
	require.EqualValues(t, 3, *p.Services["worker"].Deploy.Replicas)
}

// No secret has a default that could go to production unnoticed.
func TestComposeDemandsEverySecret(t *testing.T) {
	names := required(t)
	require.NotEmpty(t, names)
	for _, name := range names {
		_, err := load(t, composeFile, name)
		require.ErrorContains(t, err, name)
	}
}

func TestComposeCanBeWrong(t *testing.T) {
	text, err := os.ReadFile(composeFile)
	require.NoError(t, err)
	for name, c := range map[string]struct{ old, text, says string }{
		"a field that does not exist":         {"stop_grace_period: 35s # programs", "stop_grace: 35s # programs", "stop_grace"},
		"a program killed while it works":     {"stop_grace_period: 35s # programs", "stop_grace_period: 20s # programs", "is killed after 20s"},
		"a setting nobody knows":              {"SECKILL_TRUSTED_PROXIES:", "SECKILL_PROXY_NETS:", "no program knows SECKILL_PROXY_NETS"},
		"a proxy that is not believed":        {"subnet: 172.31.240.0/24", "subnet: 172.31.241.0/24", "the network is 172.31.241.0/24"},
		"a program before its tables":         {"migrate: {condition: service_completed_successfully}", "migrate: {condition: service_started}", "starts before its tables are there"},
		"an image without a version":          {"image: caddy:2.8.4-alpine", "image: caddy", `image "caddy" has no version`},
		"a Redis that forgets under pressure": {"maxmemory-policy noeviction", "maxmemory-policy allkeys-lru", "Redis is not to"},
		"operations open to the world":        {`["127.0.0.1:9095:9090"]`, `["9095:9090"]`, "prometheus is open to the world"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(string(text), c.old))
			file := filepath.Join(t.TempDir(), "compose.yaml")
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), c.old, c.text, 1)), 0o600))
			p, err := load(t, file)
			if err != nil {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.Contains(t, strings.Join(wrongProject(p), "\n"), c.says)
		})
	}
}

// wrongProject are the faults of a project, one sentence each.
func wrongProject(p *types.Project) (faults []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		s := p.Services[name]
		faults = append(faults, in(name, wrongService(s))...)
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" && name != "proxy" {
				faults = append(faults, name+" is open to the world")
			}
		}
	}
	api := p.Services["api"].Environment["SECKILL_TRUSTED_PROXIES"]
	if net := p.Networks["inside"].Ipam.Config[0].Subnet; api == nil || *api != net {
		faults = append(faults, "the network is "+net+", and the api believes another")
	}
	for _, want := range []string{"appendonly yes", "maxmemory-policy noeviction", "requirepass " + aSecret} {
		if !strings.Contains(p.Configs["redis"].Content, want) {
			faults = append(faults, "Redis is not to "+want)
		}
	}
	return faults
}

func wrongService(s types.ServiceConfig) (faults []string) {
	faults = append(faults, loose(s.Image)...)
	if s.Build == nil {
		return faults
	}
	environ := make(map[string]string)
	for name, value := range s.Environment {
		if value != nil {
			environ[name] = *value
		}
	}
	faults = append(faults, wrongSettings(s.Command, environ)...)
	var grace time.Duration
	if s.StopGracePeriod != nil {
		grace = time.Duration(*s.StopGracePeriod)
	}
	faults = append(faults, tooShort(grace)...)
	if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") {
		faults = append(faults, "keeps privileges")
	}
	for _, store := range []string{"redis", "mariadb"} {
		if s.DependsOn[store].Condition != types.ServiceConditionHealthy {
			faults = append(faults, "starts before "+store)
		}
	}
	if s.Name != "migrate" && s.DependsOn["migrate"].Condition != types.ServiceConditionCompletedSuccessfully {
		faults = append(faults, "starts before its tables are there")
	}
	return faults
}

// What compose hands to the other programs is there, and they take it.
func TestComposeFilesAreTaken(t *testing.T) {
	p, err := load(t, composeFile)
	require.NoError(t, err)
	for name, c := range p.Configs {
		if c.File != "" {
			require.FileExists(t, c.File, name)
		}
	}
	for _, s := range p.Services {
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				require.DirExists(t, v.Source, s.Name)
			}
		}
	}
	takenByRedis(t, strings.Replace(p.Configs["redis"].Content, "dir /data", "dir "+t.TempDir(), 1))
	text, err := os.ReadFile("../k8s/overlays/demo/redis.conf")
	require.NoError(t, err)
	takenByRedis(t, strings.Replace(string(text), "dir /data", "dir "+t.TempDir(), 1))
	takenByMariaDB(t, p.Services["mariadb"].Command)
	c, err := build(t, "demo")
	require.NoError(t, err)
	mariadb, ok := c.named("mariadb")
	require.True(t, ok)
	takenByMariaDB(t, mariadb.pod.Spec.Containers[0].Args)
}

// takenByRedis starts a server by a configuration: one that it did not understand would end it.
func takenByRedis(t *testing.T, text string) {
	t.Helper()
	server := exec.CommandContext(t.Context(), "redis-server", "-", "--port", "0", "--unixsocket", filepath.Join(t.TempDir(), "r"))
	server.Stdin = strings.NewReader(text)
	said, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }() // it has said enough
	var all strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.Contains(lines.Text(), "eady to accept connections") {
			return
		}
		all.WriteString(lines.Text() + "\n")
	}
	require.Fail(t, "redis-server ended", all.String())
}

// takenByMariaDB has the server read its flags: one that it does not know would end it.
func takenByMariaDB(t *testing.T, flags []string) {
	t.Helper()
	path, err := exec.LookPath("mariadbd")
	if err != nil {
		path = "/usr/sbin/mariadbd" // where Debian keeps it
	}
	args := append([]string{"--no-defaults", "--user=nobody", "--datadir=" + t.TempDir()}, flags...)
	out, err := exec.CommandContext(t.Context(), path, append(args, "--verbose", "--help")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Prometheus asks the services that exist, at the ports where they tell.
func TestComposeIsWatched(t *testing.T) {
	p, err := load(t, composeFile)
	require.NoError(t, err)
	text, err := os.ReadFile("../compose/prometheus.yaml")
	require.NoError(t, err)
	var watched struct {
		Jobs []struct {
			Name string `json:"job_name"`
			DNS  []struct {
				Names []string `json:"names"`
				Port  int      `json:"port"`
			} `json:"dns_sd_configs"`
		} `json:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &watched))
	require.Len(t, watched.Jobs, 2)
	for _, job := range watched.Jobs {
		require.Equal(t, []string{job.Name}, job.DNS[0].Names)
		program, err := programOf(p.Services[job.Name].Command)
		require.NoError(t, err)
		require.Equal(t, program.ports["ops"], job.DNS[0].Port)
	}
}
