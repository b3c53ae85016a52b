{{/* The container of both shapes, without name, restartPolicy and probes. */}}
{{- define "holdfast.container" -}}
image: {{ include "holdfast.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: {{ concat (list "sidecar" "--config" "/etc/holdfast/holdfast.yaml") .Values.args | toJson }}
{{- $env := list -}}
{{- with .Values.tokens -}}
{{- if .secret -}}
{{- $env = append $env (dict "name" "HOLDFAST_ACT_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" .secret "key" .act))) -}}
{{- if .read -}}
{{- $env = append $env (dict "name" "HOLDFAST_READ_TOKEN" "valueFrom" (dict "secretKeyRef" (dict "name" .secret "key" .read))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.log.level -}}
{{- $env = append $env (dict "name" "HOLDFAST_LOG" "value" .) -}}
{{- end -}}
{{- with .Values.log.format -}}
{{- $env = append $env (dict "name" "HOLDFAST_LOG_FORMAT" "value" .) -}}
{{- end -}}
{{- with concat $env .Values.env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: holdfast
    containerPort: {{ .Values.config.listen.port }}
    protocol: TCP
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
volumeMounts:
  - name: holdfast-config
    mountPath: /etc/holdfast
    readOnly: true
  - name: {{ eq .Values.shape "sidecar" | ternary (default "holdfast-state" .Values.sidecar.stateVolume) "holdfast-state" }}
    mountPath: {{ .Values.config.stateDirectory | quote }}
  - name: holdfast-tmp
    mountPath: /tmp
  {{- if and (eq .Values.shape "sidecar") .Values.sidecar.sharedMemoryVolume }}
  - name: {{ .Values.sidecar.sharedMemoryVolume | quote }}
    mountPath: /dev/shm
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "holdfast.probe" -}}
httpGet: {path: {{ .path }}, port: holdfast, scheme: {{ include "holdfast.scheme" .root }}}
{{ toYaml .probe }}
{{- end -}}

{{/* Probes that never wait for an engine. Without a startup probe the first liveness probe has to leave time for the start. */}}
{{- define "holdfast.probes" -}}
{{- $liveness := .Values.probes.liveness -}}
{{- if .Values.probes.startup }}
startupProbe:
  {{- include "holdfast.probe" (dict "root" . "path" "/livez" "probe" .Values.probes.startup) | nindent 2 }}
{{- else if $liveness -}}
{{- $liveness = merge (deepCopy $liveness) (dict "initialDelaySeconds" 120) -}}
{{- end }}
{{- if $liveness }}
livenessProbe:
  {{- include "holdfast.probe" (dict "root" . "path" "/livez" "probe" $liveness) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Volumes of both shapes, without the state. */}}
{{- define "holdfast.commonVolumes" -}}
- name: holdfast-config
  projected:
    sources:
      - configMap:
          name: {{ include "holdfast.fullname" . }}
      {{- range .Values.extraConfigMaps }}
      - configMap:
          name: {{ . | quote }}
          optional: true
      {{- end }}
- name: holdfast-tmp
  emptyDir:
    sizeLimit: 256Mi
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
The native sidecar, for initContainers of the engine's pod. From a chart that depends on this one:

  initContainers:
    {{- include "holdfast.sidecar" .Subcharts.holdfast | nindent 8 }}
  volumes:
    {{- include "holdfast.sidecar.volumes" .Subcharts.holdfast | nindent 8 }}
*/}}
{{- define "holdfast.sidecar" -}}
{{- if ne .Values.shape "sidecar" -}}
{{- fail "holdfast.sidecar is included, and shape is fleet; write shape: sidecar." -}}
{{- end -}}
- name: {{ .Values.sidecar.name }}
  restartPolicy: Always
  {{- include "holdfast.container" . | nindent 2 }}
  {{- include "holdfast.probes" . | trim | nindent 2 }}
  {{- if and .Values.sidecar.gatesEngine .Values.probes.readiness }}
  readinessProbe:
    {{- include "holdfast.probe" (dict "root" $ "path" "/readyz" "probe" .Values.probes.readiness) | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "holdfast.sidecar.volumes" -}}
{{ include "holdfast.commonVolumes" . }}
{{- if not .Values.sidecar.stateVolume }}
- name: holdfast-state
  emptyDir:
    sizeLimit: 1Gi
{{- end }}
{{- end -}}
