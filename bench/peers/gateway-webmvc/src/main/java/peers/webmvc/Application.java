package peers.webmvc;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.http.client.HttpComponentsClientHttpRequestFactoryBuilder;
import org.springframework.boot.http.client.autoconfigure.ClientHttpRequestFactoryBuilderCustomizer;
import org.springframework.context.annotation.Bean;

/** Spring Cloud Gateway on Tomcat; its routes and limits, and whether threads are virtual, are given on the command line. */
@SpringBootApplication
public class Application {

    public static void main(String[] words) {
        SpringApplication.run(Application.class, words);
    }

    /** The pool of Apache's client, for which Spring has no key: 5 connections a route and 25 in all by itself. */
    @Bean
    ClientHttpRequestFactoryBuilderCustomizer<HttpComponentsClientHttpRequestFactoryBuilder> pool(
            @Value("${peers.max-connections-per-route:5}") int perRoute, @Value("${peers.max-connections:25}") int all) {
        return builder -> builder.withConnectionManagerCustomizer(
                pool -> pool.setMaxConnPerRoute(perRoute).setMaxConnTotal(all));
    }
}
