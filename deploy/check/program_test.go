package check

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/openseckill/seckill/pkg/command"
	"github.com/openseckill/seckill/pkg/config"
	"github.com/openseckill/seckill/pkg/obs"
)

// What a deployment may take for secrets: long enough to be accepted.
const aSecret = "0123456789abcdef0123456789abcdef"

// stopSpare is what a program has beyond its own limit before it is killed: to close its
// connections, and for a clock that runs late.
const stopSpare = 5 * time.Second

// readyMin is longer than the programs take to say that they are not ready.
const readyMin = 3 * time.Second

// program is one of the commands that a container may run.
type program struct {
	load  func(map[string]string) error
	ports map[string]int // by name; those it listens on without other settings
}

// programOf returns what a container's command runs.
func programOf(argv []string) (program, error) {
	switch strings.Join(argv, " ") {
	case "/bin/api":
		return program{loads(config.LoadAPI), ports(map[string]string{"http": "SECKILL_HTTP_ADDR", "ops": "SECKILL_OPS_ADDR"}, reflect.TypeFor[config.API]())}, nil
	case "/bin/worker":
		return program{loads(config.LoadWorker), ports(map[string]string{"ops": "SECKILL_OPS_ADDR"}, reflect.TypeFor[config.Worker]())}, nil
	case "/bin/api migrate":
		return program{loads(config.LoadMigrate), nil}, nil
	default:
		return program{}, fmt.Errorf("the image has no program %q", argv)
	}
}

func loads[T any](load func(map[string]string) (T, error)) func(map[string]string) error {
	return func(environ map[string]string) error {
		_, err := load(environ)
		return err
	}
}

// ports are the default ports of settings, by the names that manifests give them.
func ports(names map[string]string, settings reflect.Type) map[string]int {
	defaults := variables(settings)
	found := make(map[string]int)
	for name, variable := range names {
		_, port, err := net.SplitHostPort(defaults[variable])
		if err != nil {
			panic(err) // the default is ours
		}
		found[name], _ = strconv.Atoi(port)
	}
	return found
}

// variables are the names of all settings in a struct, with their defaults.
func variables(settings reflect.Type) map[string]string {
	all := make(map[string]string)
	for i := range settings.NumField() {
		f := settings.Field(i)
		if name, ok := f.Tag.Lookup("env"); ok {
			all[name] = f.Tag.Get("envDefault")
		} else if f.Type.Kind() == reflect.Struct {
			for name, value := range variables(f.Type) {
				all[name] = value
			}
		}
	}
	return all
}

// wrongSettings are the faults of a container's environment: what its program refuses, and what
// no program knows.
func wrongSettings(argv []string, environ map[string]string) []string {
	p, err := programOf(argv)
	if err != nil {
		return []string{err.Error()}
	}
	var faults []string
	if err := p.load(environ); err != nil {
		faults = append(faults, err.Error())
	}
	api, worker := variables(reflect.TypeFor[config.API]()), variables(reflect.TypeFor[config.Worker]())
	for name := range environ {
		_, ofAPI := api[name]
		_, ofWorker := worker[name]
		if strings.HasPrefix(name, "SECKILL_") && !ofAPI && !ofWorker {
			faults = append(faults, "no program knows "+name)
		}
	}
	return faults
}

// tooShort says why a time between the signal and the kill does not do.
func tooShort(grace time.Duration) []string {
	if want := command.StopMax + stopSpare; grace < want {
		return []string{fmt.Sprintf("is killed after %v, and needs %v", grace, want)}
	}
	return nil
}

// probed tells whether the operators' address answers a probe.
func probed(ctx context.Context, path string) bool {
	ops := obs.Ops(prometheus.NewRegistry(), func(context.Context) error { return nil }, slog.New(slog.DiscardHandler))
	answer := httptest.NewRecorder()
	ops.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
	return answer.Code == http.StatusOK
}

// loose says why an image's name does not tell what runs.
func loose(image string) []string {
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, tagged := strings.Cut(name, ":")
	if !tagged || tag == "" || tag == "latest" {
		return []string{fmt.Sprintf("image %q has no version", image)}
	}
	return nil
}
