{{- define "holdfast.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "holdfast.fullname" -}}
{{- $name := include "holdfast.name" . -}}
{{- $made := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $made .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{/* Labels by which pods are selected; they never change. */}}
{{- define "holdfast.selector" -}}
app.kubernetes.io/name: {{ include "holdfast.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "holdfast.image" -}}
{{- $repository := required "image.repository is empty; write where the image is, as the release names it." .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "holdfast.serviceAccountName" -}}
{{- $account := .Values.fleet.serviceAccount -}}
{{- default ($account.create | ternary (include "holdfast.fullname" .) "default") $account.name -}}
{{- end -}}
