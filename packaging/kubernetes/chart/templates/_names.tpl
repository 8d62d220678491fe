{{- define "looptax.labels" -}}
app.kubernetes.io/name: looptax
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "looptax.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "looptax.secret" -}}
{{ .Values.secret.existing | default (printf "%s-collector" .Release.Name) }}
{{- end }}
