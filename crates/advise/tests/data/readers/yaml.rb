def flat(v, p)
  v.is_a?(Hash) ? v.each { |k, w| flat(w, p.empty? ? k.to_s : "#{p}/#{k}") } : puts("#{p}\t#{v}")
end
ARGV.each { |f| flat(YAML.load(File.read(f, encoding: 'utf-8'), aliases: true), ''); puts '--' }
