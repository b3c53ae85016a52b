{{/* The configuration as it stands, with what the chart alone knows: the names of its Service, and the tokens' variables. */}}
{{- define "holdfast.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $listen := $config.listen -}}
{{- if regexMatch "^(localhost|127\\..*|::1|\\[::1\\])$" $listen.host -}}
{{- fail (printf "config.listen.host is %s, where neither the kubelet's probes nor Prometheus can ask; write 0.0.0.0, or :: for IPv6." $listen.host) -}}
{{- end -}}
{{- if eq (int $listen.port) 0 -}}
{{- fail "config.listen.port is 0, and the probes must know the port; write one, such as 8471." -}}
{{- end -}}
{{- if eq .Values.shape "fleet" -}}
{{- $name := include "holdfast.fullname" . -}}
{{- $space := printf "%s.%s" $name .Release.Namespace -}}
{{- $names := list $name $space (printf "%s.svc" $space) (printf "%s.svc.cluster.local" $space) -}}
{{- $_ := set $listen "allowedHosts" (concat (default list $listen.allowedHosts) $names | uniq) -}}
{{- end -}}
{{- if .Values.tokens.secret -}}
{{- $_ := set $listen "actTokenEnv" "HOLDFAST_ACT_TOKEN" -}}
{{- if .Values.tokens.read -}}
{{- $_ := set $listen "readTokenEnv" "HOLDFAST_READ_TOKEN" -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "holdfast.scheme" -}}
{{- if .Values.config.listen.tls -}}HTTPS{{- else -}}HTTP{{- end -}}
{{- end -}}
