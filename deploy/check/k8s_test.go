package check

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverlays(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			c, err := build(t, overlay)
			require.NoError(t, err)
			require.Empty(t, c.faults(t.Context()))
			for _, name := range []string{"api", "worker", "migrate"} {
				_, ok := c.named(name)
				require.True(t, ok, name)
			}
		})
	}
}

// Each row is a mistake somebody could make, and what is to be said of it.
func TestOverlaysCanBeWrong(t *testing.T) {
	const api, worker, scaler = "base/api.yaml", "base/worker.yaml", "overlays/production/scaler.yaml"
	for name, c := range map[string]struct {
		overlay string
		edit    edit
		says    string
	}{
		"a field that does not exist":             {"demo", edit{api, "revisionHistoryLimit", "revisionHistory"}, `unknown field "spec.revisionHistory"`},
		"a field in the wrong case":               {"demo", edit{api, "envFrom:", "envfrom:"}, `unknown field "spec.template.spec.containers[0].envfrom"`},
		"a field of a scaler that does not exist": {"production", edit{scaler, "pollingInterval", "pollInterval"}, `unknown field "spec.pollInterval"`},
		"a setting nobody knows":                  {"production", edit{"overlays/production/settings.env", "SECKILL_TRUSTED_PROXIES", "SECKILL_PROXY_NETS"}, "no program knows SECKILL_PROXY_NETS"},
		"a setting that is misread":               {"production", edit{"overlays/production/settings.env", "WAIT_REPLICAS=1", "WAIT_REPLICAS=one"}, "SECKILL_REDIS_WAIT_REPLICAS"},
		"a cluster without partitions":            {"cluster", edit{"overlays/cluster/settings.env", "SECKILL_PARTITIONS=8", "SECKILL_PARTITIONS=0"}, "several SECKILL_REDIS_ADDRS are a cluster"},
		"a program that the image lacks":          {"demo", edit{worker, "[/bin/worker]", "[/worker]"}, "the image has no program"},
		"another port":                            {"demo", edit{worker, "containerPort: 9091", "containerPort: 9090"}, "port ops is 9091, not 9090"},
		"a setting that moves a port":             {"demo", edit{worker, "{name: GOMEMLIMIT, value: 200MiB}", "{name: SECKILL_OPS_ADDR, value: \":9\"}"}, "a setting moves its port"},
		"a probe of a path that is not there": {"demo", edit{worker, `livenessProbe:
            httpGet: {path: /livez`, `livenessProbe:
            httpGet: {path: /healthz`}, "does not answer its liveness probe"},
		"a pod that is killed when a store is away": {"demo", edit{worker, `livenessProbe:
            httpGet: {path: /livez`, `livenessProbe:
            httpGet: {path: /readyz`}, "is killed when a store is away"},
		"a probe that gives up too soon":          {"demo", edit{api, "timeoutSeconds: 3", "timeoutSeconds: 1"}, "is not given the time to say"},
		"a worker that is killed while it works":  {"demo", edit{worker, "GracePeriodSeconds: 40", "GracePeriodSeconds: 25"}, "is killed after 25s"},
		"the time before the signal, not counted": {"demo", edit{api, "sleep: {seconds: 5}", "sleep: {seconds: 20}"}, "is killed after 25s"},
		"an api that vanishes at once":            {"demo", edit{api, "sleep: {seconds: 5}", "sleep: {seconds: 0}"}, "stops listening before buyers are sent elsewhere"},
		"a shell that is not there":               {"demo", edit{api, "sleep: {seconds: 5}", "exec: {command: [sleep, '5']}"}, "nothing to execute"},
		"a selector of other pods":                {"demo", edit{"base/worker.yaml", "      labels: {app.kubernetes.io/name: worker}\n      annotations", "      labels: {app.kubernetes.io/name: work}\n      annotations"}, "does not select its own pods"},
		"a service that leads nowhere":            {"demo", edit{api, "selector: {app.kubernetes.io/name: api}", "selector: {app.kubernetes.io/name: web}"}, "nobody listens on http"},
		"an ingress that leads nowhere":           {"production", edit{"overlays/production/ingress.yaml", "port: {name: http}", "port: {name: https}"}, "ingress api: leads nowhere"},
		"a secret nobody makes":                   {"demo", edit{"overlays/demo/secrets.env.example", "SECKILL_REDIS_PASSWORD=", "REDIS_PASSWORD="}, "SECKILL_REDIS_PASSWORD comes from a secret that nobody makes"},
		"a secret that nobody is told to make":    {"production", edit{worker, "key: SECKILL_MYSQL_DSN", "key: DSN"}, "SECKILL_MYSQL_DSN comes from a secret that nobody makes"},
		"a secret in the manifest":                {"demo", edit{api, "{name: GOMEMLIMIT, value: 400MiB}", "{name: SECKILL_RECEIPT_SECRET, value: 0123456789abcdef0123456789abcdef}"}, "SECKILL_RECEIPT_SECRET stands in the manifest"},
		"an image without a version":              {"demo", edit{"overlays/demo/redis.yaml", "redis:7.2.5-bookworm", "redis:latest"}, `image "redis:latest" has no version`},
		"more asked than allowed":                 {"demo", edit{worker, "memory: 128Mi", "memory: 1Gi"}, "asks for more memory than it may have"},
		"a collector that starts too late":        {"demo", edit{worker, "value: 200MiB", "value: 300MiB"}, "GOMEMLIMIT is not below"},
		"a pod that may be root":                  {"demo", edit{worker, "runAsNonRoot: true", "runAsNonRoot: false"}, "may be root"},
		"operations open to all":                  {"demo", edit{"base/network.yaml", "- ports: [{port: http}]\n    - ports: [{port: ops}]", "- ports: [{port: http}, {port: ops}]\n    - ports: [{port: ops}]"}, "lets anybody at ops"},
		"a pod that anybody may reach":            {"demo", edit{"base/network.yaml", "    matchLabels: {app.kubernetes.io/name: migrate}", "    matchLabels: {app.kubernetes.io/name: mig}"}, "migrate: no policy says who may connect"},
		"a number beside an autoscaler":           {"demo", edit{api, "revisionHistoryLimit: 5", "replicas: 3"}, "api: 2 say how many there are"},
		"nobody who says how many":                {"production", edit{"overlays/production/kustomization.yaml", ", scaler.yaml]", "]"}, "worker: 0 say how many there are"},
		"workers that are scaled away":            {"production", edit{scaler, "minReplicaCount: 2", "minReplicaCount: 0"}, "leaves no worker for the next order"},
		"bounds that cross":                       {"production", edit{scaler, "maxReplicaCount: 8", "maxReplicaCount: 1"}, "MinReplicaCount=2 must be less than MaxReplicaCount=1"},
		"workers taken away when Redis is":        {"production", edit{scaler, "currentReplicasIfHigher", "static"}, "takes workers away"},
		"a scaler that asks for the lag":          {"production", edit{scaler, `streamLength: "20000"`, `lagCount: "20000"`}, "a trigger says lagCount"},
		"a scaler that asks for a group":          {"production", edit{scaler, "stream: seckill:stream", "stream: seckill:stream\n        consumerGroup: seckillGroup"}, "a trigger says consumerGroup"},
		"a scaler that takes Sentinels for Redis": {"production", edit{scaler, "redis-sentinel-streams", "redis-streams"}, "where the workers need redis-sentinel-streams"},
		"a scaler that looks elsewhere":           {"production", edit{scaler, "stream: seckill:stream", "stream: seckill:orders"}, "and orders are in"},
		"a partition that is not looked at":       {"cluster", edit{"overlays/cluster/scaler.yaml", `"seckill:stream:{7}"`, `"seckill:stream:{6}"`}, "and orders are in"},
		"a partition that is not counted":         {"cluster", edit{"overlays/cluster/scaler.yaml", "s6 + s7", "s6"}, "is not the sum of its triggers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := build(t, c.overlay, c.edit)
			if err != nil {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.Contains(t, strings.Join(made.faults(t.Context()), "\n"), c.says)
		})
	}
}
